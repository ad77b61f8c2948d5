/* SPDX-License-Identifier: MIT */
/* One pass of the ranks that do alike, as a walk through boxes of an array. */
#ifndef FALLSFS_FS_LEARN_HABIT_PASS_H
#define FALLSFS_FS_LEARN_HABIT_PASS_H

#include "fs/learn/habit.h"

/* The touches of each rank, in order, and where its passes begin among them. */
struct split {
    const struct touches *touches;
    uint32_t *touch; /* indices: of rank i those from first[i] to before first[i + 1] */
    size_t *first;
    size_t *pass; /* of rank i those from pass_of[i] to before pass_of[i + 1]: where they begin in touch; and an end */
    size_t *pass_of, n_passes;
    uint32_t *group, *place; /* of each rank: its group, and which rank of that it is */
};

/* One pass of one rank. */
struct course {
    size_t first, n; /* in touch */
};

static inline const struct touch *touch_at(const struct split *split, size_t i)
{
    return &split->touches->touch[split->touch[i]];
}

static inline struct course course_of(const struct split *split, uint32_t rank, uint32_t pass)
{
    size_t at = split->pass_of[rank] + pass;

    return (struct course){ split->pass[at], split->pass[at + 1] - split->pass[at] };
}

static inline uint32_t n_passes_of(const struct split *split, uint32_t rank)
{
    return (uint32_t) (split->pass_of[rank + 1] - split->pass_of[rank]);
}

/* Learns the pass with this index of all ranks of a group. -EDOM: there is no rule. -ENOMEM. */
int habit_learn_pass(const struct split *split, uint32_t group, uint32_t n_ranks, uint32_t index,
                     const struct array *array, uint64_t size, struct habit_pass *ret_pass);

#endif
