/* SPDX-License-Identifier: MIT */
/* Maps of where bytes are moved: a grid of cells, in each how many bytes are read and written there.
 *
 *     file │ . . # #        rows are parts of the file, disks, or rows of an array;
 *          │ # # . .        columns are times, ranks, or columns of the array
 *          └───────── time
 */
#ifndef FALLSFS_FS_LEARN_HEAT_H
#define FALLSFS_FS_LEARN_HEAT_H

#include "fs/learn/touch.h"
#include "layout/array.h"
#include "layout/pattern.h"

#define HEAT_ROWS 64  /* at most */
#define HEAT_COLS 128 /* at most */

struct heat {
    uint32_t rows, cols;
    uint64_t row_step, col_step; /* what one cell is: bytes of the file or rows of an array; ns, ranks, columns */
    uint64_t *read, *written;    /* [row * cols + col] */
};

/* Parts of the file, against time and against ranks. size: of the file. -ENOMEM. */
int heat_of_times(struct heat *heat, const struct touches *touches, uint64_t size);
int heat_of_ranks(struct heat *heat, const struct touches *touches, uint64_t size);

/* Disks against time; n_disks is at most HEAT_ROWS, and element i is on disk i modulo that, the header on the first.
 * -E2BIG: there are too many pieces to look at them all. */
int heat_of_disks(struct heat *heat, const struct touches *touches, const struct pattern *pattern, uint32_t n_disks);

/* The two dimensions of an array that vary fastest, one against the other as they lie on paper; what has more
 * dimensions lies on top of each other. -EINVAL: it has one dimension; -E2BIG as above. */
int heat_of_array(struct heat *heat, const struct touches *touches, const struct array *array);
void heat_done(struct heat *heat);

/* The most that is moved in one cell. */
uint64_t heat_most(const struct heat *heat);

#endif
