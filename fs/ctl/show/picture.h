/* SPDX-License-Identifier: MIT */
/* A layout drawn as cells, a letter per element. Arrays are drawn as their last two dimensions lie on paper, everything
 * else as lines of bytes. A cell is the largest piece that never has two owners; where that makes too many cells, the
 * beginning is drawn. */
#ifndef FALLSFS_FS_CTL_SHOW_PICTURE_H
#define FALLSFS_FS_CTL_SHOW_PICTURE_H

#include "layout/layout.h"

struct picture {
    uint32_t rows, cols;
    uint32_t *owner;   /* rows * cols, OWNER_NONE behind the end of the period */
    uint64_t *row_off; /* file offset of the first cell of each row */
    char scale[96];    /* what one cell is */
    char part[96];     /* which part of the period is drawn; empty: all of it */
};

#define OWNER_NONE UINT32_MAX

/* Draws a layout, which must have a pattern; -ENOMEM. */
int picture_init(struct picture *picture, const struct layout *layout);
void picture_done(struct picture *picture);

/* How many of the elements own no cell of the part that is drawn. */
uint32_t picture_missing(const struct picture *picture, uint32_t n_elements);

#define PICTURE_LETTERS 52

/* The letter of an element: A, B, ... Z, a ... z, then again; a blank for OWNER_NONE. */
char picture_letter(uint32_t element);

/* Both write the cells, and below them the FALLS of each element. */
void picture_print(FILE *out, const struct picture *picture, const struct layout *layout, bool colour);
void picture_svg(FILE *out, const struct picture *picture, const struct layout *layout);

#endif
