/* SPDX-License-Identifier: MIT */
/* The way through a part of an array in tiles, the dimension that varies slowest last to move least often; and what of
 * a tile with its halo has not been seen yet. Arithmetic only.
 *
 *     rows of a column, tiles of 4, a halo of 1 each side
 *
 *     tile 0    # # # # h                         # its own     h its halo
 *     tile 1          h # # # # h
 *     tile 2                  h # # # #
 *               0 0 0 0 0 1 1 1 1 2 2 2           which tile sees a row first: each row belongs to one
 *
 * In several dimensions, too, what a tile sees first is a box: it is new in each of them. All else has been seen by the
 * tile before in some dimension, and is kept of it. */
#ifndef FALLSFS_IOCTL_CLIENT_SLABS_WALK_H
#define FALLSFS_IOCTL_CLIENT_SLABS_WALK_H

#include "ioctl/client/slabs/box.h"

struct walk {
    uint32_t ndims;
    uint32_t nesting[ARRAY_MAX_DIMS]; /* dimensions, the one that moves least often first */
    uint64_t size[ARRAY_MAX_DIMS];    /* of the array */
    struct box part;                  /* of it, that is walked */
    uint64_t tile[ARRAY_MAX_DIMS];    /* sizes; those at the end of a dimension may be smaller */
    uint64_t n[ARRAY_MAX_DIMS];       /* tiles in a dimension */
    uint64_t n_tiles;
};

/* Elements on either side that are seen, but not walked. */
struct halo {
    uint64_t lower[ARRAY_MAX_DIMS], upper[ARRAY_MAX_DIMS];
};

/* A tile as one array of several has it. */
struct tile {
    uint64_t at[ARRAY_MAX_DIMS]; /* which one in each dimension */
    struct box own, all, fresh; /* without the halo, with it, what of that no tile before has seen; each may be empty */
};

/* The walk through a part, which may be empty, in tiles of these sizes, none of which is 0. */
void walk_init(struct walk *walk, const struct array *array, const struct box *part, const uint64_t tile[]);

/* Tile number k, from 0; behind the last one, tiles are empty. */
void walk_tile(const struct walk *walk, const struct halo *halo, uint64_t k, struct tile *ret_tile);

/* All that is seen of the array on the whole walk. */
void walk_all(const struct walk *walk, const struct halo *halo, struct box *ret_all);

/* Whether tiles see again in that dimension what the tile before has seen. */
bool walk_meets(const struct walk *walk, const struct halo *halo, uint32_t d);

/* What is kept of a tile for the one behind it in dimension d: what both see there, all of the dimensions within d,
 * and as much as the tile sees of those around d. The tile behind takes of it what it sees as new in all dimensions
 * within d. Both boxes lie within the memory of a store, of which the first gives sizes. */
void walk_keeps(const struct walk *walk, const struct halo *halo, const struct tile *tile, uint32_t d,
                struct box *ret_store, struct box *ret_kept);
void walk_takes(const struct walk *walk, const struct halo *halo, const struct tile *tile, uint32_t d,
                struct box *ret_store, struct box *ret_taken);

#endif
