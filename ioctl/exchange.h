/* SPDX-License-Identifier: MIT */
/* The bytes of a window to and from the memory of the members that ask for them. */
#ifndef FALLSFS_IOCTL_EXCHANGE_H
#define FALLSFS_IOCTL_EXCHANGE_H

#include "ioctl/fdat.h"

/* What members ask for in [lo, hi) of the window, which is bytes[0 ..): into their memory, or out of it; then the
 * highest rank wins. -EFAULT when memory is not there that should be. */
int exchange_deliver(const struct fad *fad, const struct window *window, uint64_t lo, uint64_t hi, const void *bytes);
int exchange_collect(const struct fad *fad, const struct window *window, uint64_t lo, uint64_t hi, void *bytes);

#endif
