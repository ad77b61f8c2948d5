/* SPDX-License-Identifier: MIT */
/* Who has most, while what they have changes: a tournament, in which a change is played up to the top.
 *
 *            2              the winner, here rank 2 with 7; of equals the lower rank wins
 *        1       2
 *      0   1   2   3
 *      3   5   7   1
 */
#ifndef FALLSFS_FS_LEARN_WINNER_H
#define FALLSFS_FS_LEARN_WINNER_H

#include "layout/base.h"

struct winner {
    uint32_t size;  /* ranks that have a place, a power of two */
    uint64_t *has;  /* of each rank */
    uint32_t *best; /* of each match, the top at 1 */
};

/* Everybody begins with 0; n is at least 1. -ENOMEM. */
int winner_init(struct winner *winner, uint32_t n);
void winner_done(struct winner *winner);

void winner_set(struct winner *winner, uint32_t rank, uint64_t has);

static inline uint32_t winner_of(const struct winner *winner)
{
    return winner->best[1];
}

#endif
