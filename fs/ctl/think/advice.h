/* SPDX-License-Identifier: MIT */
/* Which layout would serve a set of bytes best: candidates, each counted as access.h does. */
#ifndef FALLSFS_FS_CTL_THINK_ADVICE_H
#define FALLSFS_FS_CTL_THINK_ADVICE_H

#include "fs/ctl/think/access.h"
#include "layout/array.h"
#include "layout/layout.h"

struct advice {
    char *text;
    struct layout *layout;
    struct access access;
};

/* Finds the best layout for what is wanted, over n_disks disks: of stripes, one subfile, distributions of the array
 * unless that is NULL, and asked, the layout that programs ask by, unless that is NULL. */
int advice_find(const struct array *array, const char *asked, uint32_t n_disks, const struct nest *wanted,
                const struct store_cost *cost, struct advice *ret_advice);
void advice_done(struct advice *advice);

/* Whether a takes so much less that a change to it is worth the trouble. */
bool access_is_worth(const struct access *a, const struct access *instead_of);

#endif
