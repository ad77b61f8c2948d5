/* SPDX-License-Identifier: MIT */
/* An array and who has which part of it.
 *
 *     cyclic(2) over 3 processes     0 0 1 1 2 2 0 0 1 1       process 0's local indexes   0 1 . . . . 2 3 . .
 *
 * Processes are numbered as elements of layouts are, the last dimension of the grid first. */
#ifndef FALLSFS_IOCTL_CLIENT_PASSION_OCAD_H
#define FALLSFS_IOCTL_CLIENT_PASSION_OCAD_H

#include "ioctl/client/passion/passion.h"
#include "ioctl/client/slabs/box.h"

struct deal { /* of one dimension */
    int kind;
    uint64_t k, nprocs; /* indexes in turn, by so many processes */
};

struct OCAD {
    bool is_filled;
    struct array array; /* without a header */
    struct deal deal[ARRAY_MAX_DIMS];
    uint64_t ocla[ARRAY_MAX_DIMS];                         /* of the local file; 0: as large as the part */
    uint64_t icla[ARRAY_MAX_DIMS], memory[ARRAY_MAX_DIMS]; /* 0: as large as the part; with both overlaps */
    uint64_t overlap[ARRAY_MAX_DIMS][2];
};

/* -EINVAL what was not filled in. */
int ocad_check(const OCAD *ocad);

/* How many processes the grid has; where one of them is in it. */
uint64_t ocad_n_procs(const OCAD *ocad);
void ocad_place(const OCAD *ocad, uint64_t process, uint64_t ret_place[]);

/* How many indexes go to a process before it is the next one's turn; how many it gets, by its place. */
uint64_t deal_block(const struct deal *deal, uint64_t size);
uint64_t deal_n(const struct deal *deal, uint64_t size, uint64_t place);

/* The part of a process, empty for one that is not in the grid, as an array of its own. The size of a dimension may be
 * 0 in it. */
struct array ocad_part(const OCAD *ocad, uint64_t process);

/* The memory that sections of that array are in, as a box from 0 on. */
struct box ocad_memory(const OCAD *ocad, const struct array *part);

#endif
