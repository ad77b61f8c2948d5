/* SPDX-License-Identifier: MIT */
/* Who this process is among those that work on an array together. */
#ifndef FALLSFS_IOCTL_CLIENT_PASSION_WHO_H
#define FALLSFS_IOCTL_CLIENT_PASSION_WHO_H

#include <stdint.h>

struct who {
    uint32_t rank, n;
    uint8_t token[16];
};

/* -EINVAL the environment says what makes no sense. */
int who_am_i(struct who *ret_who);

/* A token for the first n processes and a file: the same for all of them, and never again for them and that file, since
 * each of them asks as often as the others. */
int who_token(const struct who *who, uint32_t n, uint64_t ino, uint8_t ret_token[16]);

#endif
