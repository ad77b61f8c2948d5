/* SPDX-License-Identifier: MIT */
/* Layouts worth a try, as texts: stripes of some units over all disks, one subfile, an array divided along one or two
 * of its dimensions. */
#ifndef FALLSFS_FS_CTL_THINK_CANDIDATES_H
#define FALLSFS_FS_CTL_THINK_CANDIDATES_H

#include "layout/array.h"

/* Takes a text, which is NULL without memory; an error ends the search. */
typedef int candidate_take(void *ctx, char *text);

/* disp: where the stripes begin. */
int candidates_stripes(uint64_t disp, uint32_t n_disks, candidate_take *take, void *ctx);
int candidates_array(const struct array *array, uint32_t n_disks, candidate_take *take, void *ctx);

#endif
