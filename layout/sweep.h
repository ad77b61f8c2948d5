/* SPDX-License-Identifier: MIT */
/* Brings parts that interleave into order. A sweep goes over the bytes from left to right, from one change to the next:
 * where several families run side by side it looks at one common period only and repeats it.
 *
 *     (0,0,4,8) (2,2,4,8)    #.#.#.#. ...                      ->  (0, 0, 2, 16)
 *     0: (0,1,6,3)  1: (2,5,6,3)   one byte, two owners        ->  (0, 5, 6, 3, { (0,1,2,1) of 0, (2,5,4,1) of 1 })
 *
 * Swept lists are ordered, members lie apart from each other, every inner list is swept: rank and select (nest.h) and
 * the cover of a pattern (cover.h) rest on that. To have swept a partition is the proof that it has no gap and no
 * overlap. Bytes are never looked at one by one; families whose strides have no small common period are refused with
 * -E2BIG. */
#ifndef FALLSFS_LAYOUT_SWEEP_H
#define FALLSFS_LAYOUT_SWEEP_H

#include "layout/draft.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A byte that two parts select, or one that none does. */
struct fault {
    uint64_t byte;
    bool gap;
    uint32_t origin[2]; /* of an overlap */
};

/* The same bytes as the list, swept and in canonical form. draft->error is -ERANGE after an overlap, with ret_fault set
 * to one such byte, not always the first. */
struct part *parts_sweep(struct draft *draft, const struct part *first, struct fault *ret_fault);

/* Sweeps a list that shall cover [0, size) whole. draft->error is -ERANGE after a gap, too. */
struct part *parts_sweep_cover(struct draft *draft, const struct part *first, uint64_t size, struct fault *ret_fault);

#ifdef __cplusplus
}
#endif

#endif
