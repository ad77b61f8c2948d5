/* SPDX-License-Identifier: MIT */
/* A habit for another number of processes, or another size, by one of the rules that may hold. */
#ifndef FALLSFS_FS_LEARN_GROW_H
#define FALLSFS_FS_LEARN_GROW_H

#include "fs/learn/predict.h"

/* With more processes parts become shorter, or they stay and fewer rows have more of them, or they stay and the file
 * grows; with a larger file the last dimension grows, the first, or all. Of several dimensions that are divided all get
 * more parts, or one. */
struct rule {
    enum growth by_procs, by_size;
    uint32_t grid; /* 0: all alike, so that squares stay squares; else the grid-th dimension that is divided */
    enum habit_rounding rounding; /* where the trace does not tell */
};

struct growing {
    uint32_t n_ranks;
    uint64_t size;
    const struct array *array, *new_array; /* new_array NULL: as rule and size say */
};

/* -EDOM: it does not come out; -ENOMEM. */
int habit_grow(const struct habit *habit, const struct growing *growing, const struct rule *rule,
               struct habit *ret_grown, struct array *ret_array);

/* How large the file of so many ranks is by a rule that it grows with them; 0: by others. */
uint64_t habit_size_of(const struct habit *habit, uint32_t n_ranks, const struct rule *rule);

/* Whether both are the same accesses. */
bool habit_equal(const struct habit *a, const struct habit *b);

#endif
