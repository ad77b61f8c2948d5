/* SPDX-License-Identifier: MIT */
/* Layouts worth a try, as texts: stripes of some units over all disks, one subfile, an array divided along one or two
 * of its dimensions. */
#ifndef FALLSFS_FS_CTL_THINK_CANDIDATES_H
#define FALLSFS_FS_CTL_THINK_CANDIDATES_H

#include "layout/layout.h"

/* Takes a text, which is NULL without memory; an error ends the search. */
typedef int candidate_take(void *ctx, char *text);

/* disp: where the stripes begin. */
int candidates_stripes(uint64_t disp, uint32_t n_disks, candidate_take *take, void *ctx);
int candidates_array(const struct array *array, uint32_t n_disks, candidate_take *take, void *ctx);

/* Gives a text as many copies as a file has that is now laid out like this, so that no better layout costs it one.
 * Takes the text, and gives it back or another; NULL without memory, and for NULL. */
char *candidates_keep_copies(char *text, const struct layout *now);

#endif
