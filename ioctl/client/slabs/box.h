/* SPDX-License-Identifier: MIT */
/* A box of an array: some indexes of each dimension, one after the other. Its elements lie in memory densely, in the
 * array's order, or are to be copied from one box that lies so to another.
 *
 *     from: rows 0-3, columns 0-4           to: rows 2-4, columns 1-3
 *         . . . . .                             # # .        what: rows 2-3, columns 1-2
 *         . . . . .                             # # .
 *         . # # . .              ──>            . . .
 *         . # # . .
 */
#ifndef FALLSFS_IOCTL_CLIENT_SLABS_BOX_H
#define FALLSFS_IOCTL_CLIENT_SLABS_BOX_H

#include "layout/array.h"

struct box {
    uint64_t lower[ARRAY_MAX_DIMS], size[ARRAY_MAX_DIMS]; /* empty when any size is 0 */
};

/* How many elements, of which not more than FALLS_LIMIT may be asked for: those of an array are fewer. */
uint64_t box_elements(const struct box *box, uint32_t ndims);

/* Copies the elements of what, which lies within both boxes, between memory that does not overlap. Of the array only
 * its dimensions, its order and the size of its elements matter. */
void box_copy(const struct array *array, const struct box *what, const struct box *from, const void *src,
              const struct box *to, void *dst);

/* Where the element with the lowest indexes of what lies among the bytes of the box around it; and whether those of
 * what follow each other there without a hole. */
uint64_t box_offset(const struct array *array, const struct box *around, const struct box *what);
bool box_is_dense(const struct array *array, const struct box *around, const struct box *what);

#endif
