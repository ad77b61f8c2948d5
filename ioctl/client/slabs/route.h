/* SPDX-License-Identifier: MIT */
/* What a walk was asked to be, made a walk: who walks which block, and how large a slab may be. */
#ifndef FALLSFS_IOCTL_CLIENT_SLABS_ROUTE_H
#define FALLSFS_IOCTL_CLIENT_SLABS_ROUTE_H

#include "ioctl/client/slabs/track.h"

struct route {
    struct walk walk;
    uint64_t n_rounds; /* the same for all ranks */
    uint32_t n_ahead;
};

/* Checks what was asked for and fills in the tracks as far as track_measure wants them, and the route. */
int route_init(struct route *route, const struct fallsfs_slabs_walk *asked, const struct fallsfs_slabs_array arrays[],
               uint32_t n, struct track tracks[]);

#endif
