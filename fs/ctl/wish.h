/* SPDX-License-Identifier: MIT */
/* A layout as command lines ask for it: in the notation, like another file's, or by options put together.
 *
 *     -L 'stripe(4M)'                             stripe(4M)
 *     -S 4M -c 2 -i d2                            stripe(4M,2) on d2-d3
 *     --array 8192x8192:f8:block,block:2x2        array(shape=8192x8192, elem=8, dist=(block,block), grid=2x2) */
#ifndef FALLSFS_FS_CTL_WISH_H
#define FALLSFS_FS_CTL_WISH_H

#include "fs/ctl/args.h"
#include "fs/ctl/attrs.h"

struct wish {
    const char *text, *like, *unit, *count, *first, *pool, *array, *disp;
};

/* For the options of a verb: as many as wish_args fills in. */
#define WISH_ARGS 8
void wish_args(struct wish *wish, struct arg arg[static WISH_ARGS]);

extern const char wish_help[];

/* Whether the options go together: -EINVAL, ret_why says what is wrong. */
int wish_check(const struct wish *wish, char ret_why[static ATTRS_WHY]);

/* The layout that is asked for at this path, and what the bytes mean if that is said, else NULL; both to be freed.
 * -EINVAL, ret_why says why. */
int wish_find(const struct wish *wish, const char *path, char **ret_layout, char **ret_array,
              char ret_why[static ATTRS_WHY]);

#endif
