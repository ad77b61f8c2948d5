/* SPDX-License-Identifier: MIT */
/* Verbs go through trees that others use. */
#include "fs/ctl/talk/paths.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define N_DIRS 3

struct tree {
    char top[64];
    struct paths paths;
    unsigned n_entered;
};

static void path_of(const struct tree *tree, unsigned i, char ret_path[static 80])
{
    snprintf(ret_path, 80, "%s/%u", tree->top, i);
}

/* From in the first directory, whichever that is, the others go. */
static void take(void *ctx, const FTSENT *entry)
{
    struct tree *tree = ctx;

    if (entry->fts_info != FTS_D || entry->fts_level != 1)
        return;
    tree->n_entered++;
    for (unsigned i = 0; i < N_DIRS; i++) {
        char path[80];

        path_of(tree, i, path);
        if (strcmp(path, entry->fts_path) != 0)
            (void) rmdir(path);
    }
}

Test(paths, what_goes_meanwhile_is_no_failure)
{
    struct tree tree = { .top = "/var/tmp/fallsfs-test.XXXXXX" };

    cr_assert_not_null(mkdtemp(tree.top));
    for (unsigned i = 0; i < N_DIRS; i++) {
        char path[80];

        path_of(&tree, i, path);
        cr_assert_eq(mkdir(path, 0700), 0);
    }
    paths_begin(&tree.paths, false);
    paths_walk(&tree.paths, tree.top, take, &tree);
    cr_expect_eq(tree.paths.failed, 0);
    cr_expect_geq(tree.n_entered, 1);
    for (unsigned i = 0; i < N_DIRS; i++) {
        char path[80];

        path_of(&tree, i, path);
        (void) rmdir(path);
    }
    cr_expect_eq(rmdir(tree.top), 0);
    paths_walk(&tree.paths, tree.top, take, &tree);
    cr_expect_eq(tree.paths.failed, 1, "what the caller named and is not there");
}
