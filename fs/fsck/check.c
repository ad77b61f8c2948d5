/* SPDX-License-Identifier: MIT */
#include "fs/fsck/check.h"

#include "fs/fsck/checking.h"
#include "fs/fsck/orphans.h"

static void done(struct checking *checking)
{
    for (size_t i = 0; i < checking->n_damaged; i++)
        free(checking->damaged[i].path);
    free(checking->damaged);
    orphans_done(&checking->orphans);
    ids_done(&checking->ids);
    layouts_free(checking->layouts);
}

int check_volume(struct check *check, struct volume *volume)
{
    static int (*const part[])(struct checking *) = {
        check_directories_first, check_todo,    check_tmp,     check_names, check_damaged,
        check_layouts,           orphans_begin, check_objects, check_lost,  check_costs,
    };
    struct checking checking = { .check = check, .volume = volume };
    int r = layouts_new(volume, &checking.layouts);

    check->n_files = check->n_objects = check->n_copies = check->n_noted = check->n_fixed = check->n_left = 0;
    check->n_freed = check->bytes_freed = 0;
    ids_init(&checking.ids, checking.layouts);
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(part); i++)
        r = part[i](&checking);
    done(&checking);
    return r;
}
