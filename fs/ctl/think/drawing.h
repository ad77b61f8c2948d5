/* SPDX-License-Identifier: MIT */
/* Which disk has which part of an array, as a grid of digits, one for each disk:
 *
 *     0 0 0 0 1 1 1 1        rows and columns are the last two dimensions; what has bytes on several disks is a *
 *     2 2 2 2 3 3 3 3 */
#ifndef FALLSFS_FS_CTL_THINK_DRAWING_H
#define FALLSFS_FS_CTL_THINK_DRAWING_H

#include "fs/ctl/ask/file_info.h"

#include <stdio.h>

#define DRAWING_MIXED UINT32_MAX
#define DRAWING_NONE  (UINT32_MAX - 1) /* behind the end */

struct drawing {
    uint32_t rows, cols;
    uint32_t *disk;                /* of each cell, row by row */
    uint64_t cell_rows, cell_cols; /* elements of the array in one */
    bool is_part;                  /* the beginning: cells that are larger would tell nothing */
    struct array array;            /* what is drawn; one row of bytes where nobody knows an array */
};

/* Draws the array that the file is said to have, else the one that its layout speaks of, else its bytes in lines. */
int drawing_init(struct drawing *drawing, const struct file_info *info);
void drawing_done(struct drawing *drawing);

/* The digit of a disk: 0-9, a-z, A-Z, then again. */
char drawing_digit(uint32_t disk);

void drawing_print(FILE *out, const struct drawing *drawing, const struct file_info *info);

#endif
