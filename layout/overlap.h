/* SPDX-License-Identifier: MIT */
/* What two sets of nested FALLS have in common, and where that lies in each of them: the paper's INTERSECT and PROJ.
 *
 *     a = {(0,7,16,2,{(0,1,4,2)})}      0 1 . . 4 5 . .         a's own bytes   0 1 . . 2 3 ...
 *     b = {(0,3, 8,4,{(0,0,2,2)})}      0 . 2 . . . . .  ...    b's own bytes   0 . 1 . ...
 *     common {(0,0,16,2)}, on a {(0,0,4,2)}, on b {(0,0,4,2)}
 *
 * The two trees are walked together. Where a family of one runs beside a family of the other only their common period
 * is looked at, and within it only blocks that meet: the work follows the number of FALLS and not that of bytes. */
#ifndef FALLSFS_LAYOUT_OVERLAP_H
#define FALLSFS_LAYOUT_OVERLAP_H

#include "layout/pattern.h"

#ifdef __cplusplus
extern "C" {
#endif

struct overlap {
    uint64_t lo, period;      /* the bytes compared: [lo, lo + period) */
    uint64_t size;            /* bytes in common */
    uint64_t size_a, size_b;  /* bytes of either set in the period */
    uint64_t runs;            /* pieces of the common bytes that are contiguous in both sets */
    struct nest *common;      /* relative to lo */
    struct nest *on_a, *on_b; /* positions among the set's own bytes, from its first one at or after lo on */
};

/* What a and b have in common in [lo, lo + period). -E2BIG when the result has no short description, -ENOMEM. */
int overlap_of_nests(const struct nest *a, const struct nest *b, uint64_t lo, uint64_t period,
                     struct overlap *ret_overlap);

/* Counts the bytes in common and their runs without describing them. That is cheaper, and pieces too many to be written
 * down can still be counted, up to some millions. */
int overlap_count(const struct nest *a, const struct nest *b, uint64_t lo, uint64_t period, uint64_t *ret_size,
                  uint64_t *ret_runs);

/* One common period of two patterns, from the later displacement on. -EOVERFLOW when it reaches past FALLS_LIMIT. */
int overlap_period(const struct pattern *a, const struct pattern *b, uint64_t *ret_lo, uint64_t *ret_period);

/* What element i of a and element j of b have in common, over one common period from the later displacement on. Also
 * -ENOENT no such element, and what overlap_period returns. */
int overlap_of_elements(const struct pattern *a, uint32_t i, const struct pattern *b, uint32_t j,
                        struct overlap *ret_overlap);

void overlap_done(struct overlap *overlap);

#ifdef __cplusplus
}
#endif

#endif
