/* SPDX-License-Identifier: MIT */
/* Sets of FALLS as tiles of a row, as fallsfs_ioctl.h draws it for lists: what is regular within a tile and from tile
 * to tile is one set of FALLS, however many tiles there are.
 *
 *     {(0,1,3,2)}, extent 6, skip 2, bytes 5     . . . # # . # # . # . .        {(3,4,3,2);(9,9,1,1)} */
#ifndef FALLSFS_IOCTL_TILE_H
#define FALLSFS_IOCTL_TILE_H

#include "layout/nest.h"

/* What one sees of a file through the tiles: bytes of them, more than 0, after the first skip. extent 0: one tile.
 * -EINVAL: tiles interleave, are empty, or a single one has less; -EOVERFLOW, -E2BIG, -ENOMEM. */
int nest_tile(const struct nest *nest, uint64_t extent, uint64_t skip, uint64_t bytes, struct nest **ret_nest);

/* Moves all of a set that nobody else has up in the file: -EOVERFLOW. */
int nest_shift(struct nest *nest, uint64_t disp);

#endif
