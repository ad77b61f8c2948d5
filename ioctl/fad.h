/* SPDX-License-Identifier: MIT */
/* File access descriptors: what each member of a group asks for, and questions about all of it together. A member's
 * bytes are a nest of FALLS, however many pieces that is; nothing here makes a list of them. */
#ifndef FALLSFS_IOCTL_FAD_H
#define FALLSFS_IOCTL_FAD_H

#include "layout/nest.h"

/* The bytes of the file that a member wants, and where they go or come from: nest->size bytes, in file order. */
struct asked {
    const struct nest *nest; /* may be empty */
    uint8_t *buf;
};

struct fad {
    const struct asked *asked;
    uint32_t n;
    uint64_t lo, hi; /* the bounding section: from the first byte asked for to the end of the last; lo == hi: nothing */
    uint64_t total;  /* bytes, all members together */
};

struct fad fad_of(const struct asked asked[], uint32_t n);

#endif
