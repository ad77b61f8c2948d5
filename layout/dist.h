/* SPDX-License-Identifier: MIT */
/* The named distributions as nested FALLS. Element i of each is a list of parts whose leaves it owns:
 *
 *     stripe(2,3)            0 0 1 1 2 2                     var(1,3)        0 1 1 1
 *     twod(1,2,3), 4 disks   0 1 0 1 0 1 2 3 2 3 2 3         groups of disks, each filled factor times before the next
 *     array 3 x 4, dist=(block,cyclic), grid=2x2             0 1 0 1
 *                                                            0 1 0 1      block: ceil(n / p) to each in turn
 *                                                            2 3 2 3      cyclic(k): k at a time
 */
#ifndef FALLSFS_LAYOUT_DIST_H
#define FALLSFS_LAYOUT_DIST_H

#include "layout/array.h"
#include "layout/draft.h"

#ifdef __cplusplus
extern "C" {
#endif

enum dist_kind {
    DIST_WHOLE, /* the notation's *: not divided */
    DIST_BLOCK,
    DIST_CYCLIC,
};

struct dist {
    enum dist_kind kind;
    uint64_t k;    /* of cyclic(k) */
    uint64_t grid; /* processes in this dimension */
};

struct dist_array {
    struct array array;
    struct dist dist[ARRAY_MAX_DIMS];
};

/* Each makes the parts of one element. Callers have checked that a period, all elements together, lies within
 * FALLS_LIMIT. */
struct part *dist_stripe(struct draft *draft, uint64_t unit, uint32_t element);
struct part *dist_var(struct draft *draft, const uint64_t unit[], uint32_t element);
struct part *dist_twod(struct draft *draft, uint64_t unit, uint64_t groups, uint64_t factor, uint32_t n_elements,
                       uint32_t element);
struct part *dist_array_element(struct draft *draft, const struct dist_array *dist, uint32_t element);

#ifdef __cplusplus
}
#endif

#endif
