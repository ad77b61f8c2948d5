/* SPDX-License-Identifier: MIT */
/* What each rank touches of a file, however often and in whatever order:
 *
 *     touches    rank 0 [0,4) [2,6) [8,9)        rank 1 [4,8)
 *     extents    rank 0 [0,6) [8,9)              rank 1 [4,8)
 */
#ifndef FALLSFS_FS_LEARN_EXTENTS_H
#define FALLSFS_FS_LEARN_EXTENTS_H

#include "fs/learn/fold.h"
#include "fs/learn/touch.h"

enum extents_of {
    EXTENTS_READ = 1,
    EXTENTS_WRITTEN = 2,
    EXTENTS_ALL = EXTENTS_READ | EXTENTS_WRITTEN,
};

struct extents {
    struct segment *segment; /* of rank i those from first[i] to before first[i + 1], in file order, apart */
    size_t *first;
    uint32_t n_ranks;
};

/* -ENOMEM. */
int extents_init(struct extents *extents, const struct touches *touches, enum extents_of of);
void extents_done(struct extents *extents);

/* The bytes of a rank. */
uint64_t extents_bytes(const struct extents *extents, uint32_t rank);

#endif
