/* SPDX-License-Identifier: MIT */
/* What a program does with a file, as a rule instead of a list: so it can be asked what the same program would do with
 * more processes, or with a larger file.
 *
 *     touches      rank 0 [0,2) [8,10) [16,18)   rank 1 [2,4) [10,12) [18,20) ...   and then all again, reading
 *     passes       each rank writes forwards, then it reads forwards
 *     dimensions   3 rows of 8 bytes; a row is divided among 4 ranks; an access is one rank's part of one row
 *
 * A pass is a walk forwards through the file, all reading or all writing. Its accesses are a box of an array: either
 * the one that somebody said the file is, or one whose rows are the distances that come again. What all ranks have of a
 * dimension is the same, or divides it. Of an array that was said it may also be one cell of each layer, always the
 * next one, so that every rank has work in every layer, and in every row and column of cells:
 *
 *     layer 0   0 1 2   layer 1   8 6 7   layer 2   4 5 3        9 ranks, turns 3
 *               3 4 5             2 0 1             7 8 6
 *               6 7 8             5 3 4             1 2 0
 *
 * A rule that does not give back every access that was traced is none. */
#ifndef FALLSFS_FS_LEARN_HABIT_H
#define FALLSFS_FS_LEARN_HABIT_H

#include "fs/learn/touch.h"
#include "layout/array.h"

#define HABIT_MAX_DIMS 32

/* How a dimension that does not go up is divided: 10 among 4. */
enum habit_rounding {
    HABIT_FIRST,  /* 3 3 2 2 */
    HABIT_CEIL,   /* 3 3 3 1 */
    HABIT_LAST,   /* 2 2 2 4 */
    HABIT_SPREAD, /* 2 3 2 3 */
    HABIT_ROUNDINGS,
};

#define HABIT_ANY_ROUNDING ((1u << HABIT_ROUNDINGS) - 1)

struct habit_dim {
    uint64_t n, stride; /* steps, and bytes of each */
    uint64_t from, to;  /* what all ranks together have of it */
    uint64_t overlap;   /* steps that a part reaches into the next one */
    uint32_t grid;      /* parts; 1: it is not divided */
    enum habit_rounding rounding;
    unsigned roundings; /* a bit for each that its parts may come from: all of them, where they are even */
    bool is_real;       /* it is a dimension of the array that was said, and no part of one */
    int way;            /* the next layer has the part behind, 1, or before, -1; 0: the same */
};

struct habit_pass {
    bool writes, by_array;
    uint32_t stage;
    uint32_t n_dims, whole; /* one access has all of the dimensions from whole on */
    uint32_t copies;        /* ranks that have the same */
    bool reversed;          /* the next rank is the next part of the first dimension divided, not of the last */
    uint64_t base, end;     /* where the array begins in the file, and bytes of it that there are */
    uint32_t turn, turns;   /* that dimension is made of so many layers; 0: there are none */
    bool is_either_way;     /* of two layers nobody knows which way the parts go */
    struct habit_dim dim[HABIT_MAX_DIMS];
};

/* Ranks that do alike. */
struct habit_group {
    uint32_t n_ranks, first_pass, n_passes;
};

struct habit {
    struct habit_group *group;
    struct habit_pass *pass;
    bool *in_turn; /* of each stage: one rank does all of it, then the next; else all ranks at a time */
    size_t n_groups, n_passes, n_stages;
    uint32_t n_ranks;
    uint64_t size; /* of the file */
};

/* Learns from touches. array: what the file is said to be, or NULL. -EDOM: there is no rule, and *ret_rank does what
 * none covers; -ENOMEM. */
int habit_init(struct habit *habit, const struct touches *touches, const struct array *array, uint64_t size,
               uint32_t *ret_rank);
void habit_done(struct habit *habit);

/* Where part c of a dimension begins, and where it ends. */
uint64_t habit_part(const struct habit_dim *dim, uint32_t c);
uint64_t habit_part_end(const struct habit_dim *dim, uint32_t c);

/* The accesses of one rank of a group in one pass, in order. */
struct habit_walk {
    const struct habit_pass *pass;
    uint64_t lo[HABIT_MAX_DIMS], hi[HABIT_MAX_DIMS], at[HABIT_MAX_DIMS];
    uint32_t part[HABIT_MAX_DIMS]; /* in the first layer */
    uint32_t layer;
    bool is_over;
};

void habit_walk_init(struct habit_walk *walk, const struct habit_pass *pass, uint32_t rank);
bool habit_walk_next(struct habit_walk *walk, uint64_t *ret_off, uint64_t *ret_end);

#endif
