/* SPDX-License-Identifier: MIT */
/* How PASSION's calls fail: -1, and errno. */
#ifndef FALLSFS_IOCTL_CLIENT_PASSION_FAIL_H
#define FALLSFS_IOCTL_CLIENT_PASSION_FAIL_H

#include <errno.h>

/* Turns 0 or -errno into what these calls give. */
static inline int fail(int r)
{
    if (r >= 0)
        return 0;
    errno = -r;
    return -1;
}

#endif
