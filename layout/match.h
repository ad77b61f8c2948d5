/* SPDX-License-Identifier: MIT */
/* How well the elements of one partition, what programs ask for, fit those of another, what lies on the disks.
 *
 * An element of asked can be had in one piece when its bytes lie in one element of stored, one after the other. The
 * degree is the number of runs, pieces contiguous in both, over the least possible: 1 where every asked element is one
 * run, as in two equal partitions, and more the more they are broken up. It is one number everywhere: what programs
 * did, in the place of asked elements, has it from fs/learn/fit.h. */
#ifndef FALLSFS_LAYOUT_MATCH_H
#define FALLSFS_LAYOUT_MATCH_H

#include "layout/overlap.h"

#ifdef __cplusplus
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic" /* C++ has no arrays without a size; its compilers have */
extern "C" {
#endif

struct match_row {
    uint64_t bytes, runs; /* of one element of asked, in one period */
    uint32_t touched;     /* elements of stored that have some of them */
};

struct match {
    uint64_t period; /* common to both */
    uint64_t runs, least;
    bool is_estimated; /* runs, from the first part of a period, since there are too many to look at all of them */
    uint32_t n_rows;
    struct match_row row[]; /* one for each element of asked */
};

/* Counts the runs of all asked elements: where FALLS meet FALLS by arithmetic, else piece by piece. -EOVERFLOW when a
 * common period reaches past FALLS_LIMIT, -ENOMEM. */
int match_new(const struct pattern *stored, const struct pattern *asked, struct match **ret_match);
void match_free(struct match *match);
void match_freep(struct match **match);

static inline double match_degree(const struct match *match)
{
    return (double) match->runs / (double) match->least;
}

#ifdef __cplusplus
}
#pragma GCC diagnostic pop
#endif

#endif
