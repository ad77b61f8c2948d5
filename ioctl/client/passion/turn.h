/* SPDX-License-Identifier: MIT */
/* A part as sections that are progressions both in it and in the whole array, so many for each process.
 *
 *     cyclic(2) over 3 processes, process 1      . . 0 1 . . . . 2 3 . . . . 4 5
 *         by offset, 2 of them     whole 2:14:6, 3:15:6     part 0:4:2, 1:5:2
 *         by block,  3 of them     whole 2:3:1, 8:9:1, ...  part 0:1:1, 2:3:1, ...
 *
 * Each dimension takes the way that has fewer; large ones are cut again, so that one fits into the memory that there is
 * for it. All processes have as many turns, some of them empty. */
#ifndef FALLSFS_IOCTL_CLIENT_PASSION_TURN_H
#define FALLSFS_IOCTL_CLIENT_PASSION_TURN_H

#include "ioctl/client/passion/ocad.h"

struct turn_dim {
    bool by_offset;
    uint64_t n, most;     /* progressions; indexes that one has at most */
    uint64_t cut, n_cuts; /* indexes taken at a time; how many times for a progression */
};

struct turns {
    const OCAD *ocad;
    struct turn_dim dim[ARRAY_MAX_DIMS];
    uint64_t n; /* of all dimensions */
};

/* The turns, each of which moves so many bytes at most, but one element at least. */
void turns_init(struct turns *turns, const OCAD *ocad, uint64_t bytes);

/* Turn t of a process: the sections in its part and in the whole array, as AccessArrays; an empty one has a lower bound
 * above the upper one in both. */
void turns_get(const struct turns *turns, uint64_t process, uint64_t t, int64_t ret_part[][3], int64_t ret_whole[][3]);

#endif
