/* SPDX-License-Identifier: MIT */
/* Segments folded into nested FALLS, as few as are easily found:
 *
 *     ##..##..##......##..##..##......      six segments
 *     └(0,1,4,3)┘     └(0,1,4,3)┘           runs of equal things at equal distances become one thing
 *     (0,9,16,2, {(0,1,4,3)})               and again, until nothing folds
 *
 * Groups of several things that come again together are folded, too. What has no regularity stays a list. */
#ifndef FALLSFS_FS_LEARN_FOLD_H
#define FALLSFS_FS_LEARN_FOLD_H

#include "layout/nest.h"

#include <stdio.h>

struct segment {
    uint64_t off, end;
};

struct fold;

/* Folds segments that are in file order and lie apart. -E2BIG: more than max_items things are left, -ENOMEM. */
int fold_new(const struct segment segment[], size_t n, size_t max_items, struct fold **ret_fold);
void fold_free(struct fold *fold);
void fold_freep(struct fold **fold);

/* How many FALLS it takes, of all levels. */
uint64_t fold_nodes(const struct fold *fold);

/* Prints the list of FALLS, "(0,9,16,2, {(0,1,4,3)}), ...", without braces around it; "()" for nothing. */
void fold_print(FILE *out, const struct fold *fold);

/* What was folded as a set that can be reckoned with. -ENOMEM, -E2BIG. */
int fold_nest(const struct fold *fold, struct nest **ret_nest);

/* Folding that ended in one FALLS, perhaps nested, is seen from outside to inside: its levels, as far as each has one
 * FALLS. Returns how many; 0: there are several FALLS, or none. */
#define FOLD_MAX_DEPTH 12
size_t fold_levels(const struct fold *fold, struct falls ret_level[static FOLD_MAX_DEPTH]);

#endif
