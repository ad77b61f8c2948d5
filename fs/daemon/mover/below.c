/* SPDX-License-Identifier: MIT */
/* The files below a directory get what a word says, as far as who asked may give it to them. */
#include "fs/daemon/mover/kinds.h"
#include "fs/daemon/mover/pass.h"

#include <string.h>

/* Takes the reference to the file. Names of files that are none of who asked are not told. */
static void begin(struct moving *moving, struct inode *inode)
{
    cleanup(freep) char *path = NULL;
    struct fs *fs = moving_fs(moving);
    struct job_view before = { 0 }, job = { 0 };
    char why[LAST_ERROR_SIZE] = "";
    int r;

    (void) jobs_of(fs->jobs, inode, &before);
    r = moving->order.begin(moving->order.ctx, inode, moving->word, moving_limit(moving), why);
    if (r < 0 && r != -EPERM)
        (void) inode_path(fs->inodes, inode, &path);
    if (r < 0)
        moving_fail(moving, path, r, why[0] != 0 ? why : strerror(-r));
    if (r == 0 && jobs_of(fs->jobs, inode, &job) && job.number != before.number) {
        moving_note_moved(moving, 0);
        moving_add(moving, inode);
    } else {
        inode_unref(fs->inodes, inode);
    }
}

static int begin_one(struct pass *pass, const struct walk_entry *entry, void *ctx)
{
    struct inode *inode = pass_has_seen(pass, entry) ? NULL : pass_find(pass, entry->path);

    (void) ctx;
    if (inode == NULL)
        return 0;
    moving_count_file(pass->moving);
    begin(pass->moving, inode);
    return 0;
}

int move_below(struct moving *moving)
{
    struct pass pass = { .moving = moving };

    return pass_go(&pass, begin_one, NULL);
}
