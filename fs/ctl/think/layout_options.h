/* SPDX-License-Identifier: MIT */
/* A layout as command lines ask for it: in the notation, like another file's, or by options put together.
 *
 *     -L 'stripe(4M)'                             stripe(4M)
 *     -S 4M -c 2 -i d2                            stripe(4M,2) on d2-d3
 *     --array 8192x8192:f8:block,block:2x2        array(shape=8192x8192, elem=8, dist=(block,block), grid=2x2)
 *     --array block,block:2x2                     the same of what the file is said to hold, behind its header */
#ifndef FALLSFS_FS_CTL_THINK_LAYOUT_OPTIONS_H
#define FALLSFS_FS_CTL_THINK_LAYOUT_OPTIONS_H

#include "fs/ctl/ask/attrs.h"
#include "fs/ctl/talk/args.h"

struct layout_options {
    const char *text, *like, *unit, *count, *first, *pool, *array, *disp;
};

/* How many options layout_options_args fills in. */
#define LAYOUT_OPTIONS_ARGS 8
void layout_options_args(struct layout_options *asked, struct arg arg[static LAYOUT_OPTIONS_ARGS]);

extern const char layout_options_help[];

/* Whether the options go together: -EINVAL, ret_why says what is wrong. */
int layout_options_check(const struct layout_options *asked, char ret_why[static ATTRS_WHY]);

/* Finds the layout that is asked for at this path, and what the bytes mean, NULL where nobody has said that; both are
 * to be freed. -EINVAL: ret_why says why. */
int layout_options_find(const struct layout_options *asked, const char *path, char **ret_layout, char **ret_array,
                        char ret_why[static ATTRS_WHY]);

#endif
