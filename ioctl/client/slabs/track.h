/* SPDX-License-Identifier: MIT */
/* One array on a walk: what is being read, in hand, being written, and kept.
 *
 *     file      [slab k-1] [slab k  ] [slab k+1] [slab k+2]
 *     memory     written    in hand    read       read             slots, in a ring; a slab's number says which
 *                    \_____kept_____/                              stores: what k has of k-1, one for each dimension
 *
 * What a tile sees first is read to where it will be used, if it is one piece there; else densely into the slot, and
 * put together with what was kept in the memory of the tile in hand. So is it written, or packed before. */
#ifndef FALLSFS_IOCTL_CLIENT_SLABS_TRACK_H
#define FALLSFS_IOCTL_CLIENT_SLABS_TRACK_H

#include "ioctl/client/slabs/fallsfs_slabs.h"
#include "ioctl/client/slabs/walk.h"

struct slot {
    uint8_t *bytes;
    struct fallsfs_ticket *reading, *writing;
};

struct track {
    int fd;
    struct fallsfs_group *group;
    struct fallsfs_array what; /* as it is asked for */
    struct array array;        /* the same */
    bool reads, writes;
    struct halo halo;
    const struct walk *walk; /* NULL: not begun */
    bool is_joined;          /* tiles are put together in hand */
    bool is_packed;          /* what is written is not one piece of them */
    uint64_t memory_len, slot_len;
    uint32_t n_slots;
    uint8_t *memory;                /* all of it: slots, then the next two, then stores */
    uint8_t *hand, *packed;         /* NULL: the slot */
    uint8_t *store[ARRAY_MAX_DIMS]; /* NULL: no tile meets another there */
    struct slot *slot;
    struct fallsfs_slabs_stats *stats; /* of the whole walk */
};

/* Finds out how much memory the array takes on that walk, UINT64_MAX if it cannot be said, with so many slabs that are
 * read ahead; what is there already says which array, how and for whom. */
uint64_t track_measure(struct track *track, const struct walk *walk, uint32_t n_ahead);

/* Gets the memory that was measured last. walk and stats stay where they are. */
int track_begin(struct track *track, const struct walk *walk, struct fallsfs_slabs_stats *stats);

/* Asks for tile k. In a group also when there is nothing to be read, as the other ranks do. */
int track_ask(struct track *track, uint64_t k);

/* Waits for tile k, which is the one behind that taken last, and shows it; ret_ready says whether it lay there. */
int track_take(struct track *track, uint64_t k, struct fallsfs_slab *ret_slab, bool *ret_ready);

/* Has tile k, which was taken last, written without its halo; what was written before has been waited for. */
int track_give(struct track *track, uint64_t k);

/* Waits for what is being written. */
int track_flush(struct track *track);

/* Waits for all that is under way, whatever becomes of it, and frees what there is. */
void track_done(struct track *track);

#endif
