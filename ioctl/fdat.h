/* SPDX-License-Identifier: MIT */
/* File domain access tables: what is asked for in one domain, from window to window, and by whom.
 *
 *     domain             . . . . # # . # . . . . . . # # # . . . . .
 *     windows                    |--------|          |----|              as far apart as they happen to be
 *
 * A window begins and ends with a byte that somebody asks for, and is as long as its memory allows. */
#ifndef FALLSFS_IOCTL_FDAT_H
#define FALLSFS_IOCTL_FDAT_H

#include "ioctl/domain.h"

/* A member's bytes in a window. */
struct portion {
    uint32_t member;
    uint64_t len;
    uint64_t packed_off; /* of the first one in the member's memory */
};

struct window {
    uint64_t lo, hi;
    uint64_t useful; /* bytes, all members together */
    uint32_t n;      /* members that want some of it, in order of their ranks */
    struct portion *portion;
};

struct fdat;

/* Windows of at most size bytes, cut where the disks' pages are. */
int fdat_new(const struct fad *fad, const struct domain *domain, const struct store *store, uint64_t size,
             struct fdat **ret_fdat);
void fdat_free(struct fdat *fdat);

/* The next window, valid until the one after it; NULL when there is none. */
const struct window *fdat_next(struct fdat *fdat);

/* The first bytes of the window at or after x that somebody asks for, and all behind that lie no more than gap bytes
 * apart from one to the next; false when there are none. */
bool window_piece(const struct fad *fad, const struct window *window, uint64_t x, uint64_t gap, uint64_t *ret_lo,
                  uint64_t *ret_hi);

/* Whether each byte of [lo, hi) is asked for by somebody. May say no of pieces too many to look at. */
bool window_is_covered(const struct fad *fad, const struct window *window, uint64_t lo, uint64_t hi);

/* What of [lo, hi) is asked for, as flags: SELECTED, NOT_SELECTED. May say both of pieces too many to look at. */
unsigned window_look(const struct fad *fad, const struct window *window, uint64_t lo, uint64_t hi);

#endif
