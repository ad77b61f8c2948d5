/* SPDX-License-Identifier: MIT */
/* The bytes of a window to and from the memory of the members that ask for them. */
#ifndef FALLSFS_IOCTL_EXCHANGE_H
#define FALLSFS_IOCTL_EXCHANGE_H

#include "ioctl/fdat.h"

/* Of a member's memory: what was last found to be there. */
struct ready {
    uint64_t lo, hi;
};

/* Before anything of a window is moved: whether all memory is there that it goes to or comes from. -EFAULT. It is
 * looked for some way ahead, which costs no more; found is for each member, all zeros before the first window. */
int exchange_ready(const struct fad *fad, const struct window *window, struct ready found[]);

/* What members ask for in [lo, hi) of the window, which is bytes[0 ..): into their memory, or out of it; then the
 * highest rank wins. -EFAULT when memory is not there that should be. */
int exchange_deliver(const struct fad *fad, const struct window *window, uint64_t lo, uint64_t hi, const void *bytes);
int exchange_collect(const struct fad *fad, const struct window *window, uint64_t lo, uint64_t hi, void *bytes);

#endif
