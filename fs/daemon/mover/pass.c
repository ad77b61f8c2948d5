/* SPDX-License-Identifier: MIT */
#include "fs/daemon/mover/pass.h"

#include "fs/core/change/membership.h"
#include "fs/core/stub/stub.h"
#include "fs/core/tree/tree.h"
#include "fs/core/volume/file_layouts.h"

#include <search.h>
#include <string.h>

/* -- names -- */

struct inode *pass_find(const struct pass *pass, const char *path)
{
    struct moving *moving = pass->moving;
    cleanup(freep) char *copy = strdup(path);
    struct fs *fs = moving_fs(moving);
    struct inode *inode = moving->dir, *next;
    char *rest = copy, *name;
    struct stat st;

    if (copy == NULL)
        return NULL;
    inode_ref(fs->inodes, inode);
    while ((name = strsep(&rest, "/")) != NULL) {
        int r = tree_lookup(fs, inode, name, &next, &st);

        inode_unref(fs->inodes, inode);
        if (r < 0)
            return NULL;
        inode = next;
    }
    if (inode->fmt == S_IFREG)
        return inode;
    inode_unref(fs->inodes, inode);
    return NULL;
}

static int compare_numbers(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t) a, y = (uintptr_t) b;

    return x < y ? -1 : x > y;
}

bool pass_has_seen(struct pass *pass, const struct walk_entry *entry)
{
    void *number = (void *) (uintptr_t) entry->st.st_ino; /* NOLINT(performance-no-int-to-ptr): never followed */
    void **at = entry->st.st_nlink > 1 ? tfind(number, &pass->seen, compare_numbers) : NULL;

    if (at != NULL)
        return true;
    if (entry->st.st_nlink > 1)
        (void) tsearch(number, &pass->seen, compare_numbers);
    return false;
}

static void ignore(void *number)
{
    (void) number;
}

int pass_go(struct pass *pass, int (*take)(struct pass *pass, const struct walk_entry *entry, void *ctx), void *ctx)
{
    cleanup(walk_freep) struct walk *walk = NULL;
    struct moving *moving = pass->moving;
    struct walk_entry entry;
    int dir, r = inode_open(moving_fs(moving)->inodes, moving->dir, &dir);

    if (r < 0)
        return r;
    r = walk_new(fs_home(moving_fs(moving)), dir, &walk);
    while (r >= 0 && moving_wait(moving, MOVE_JOBS - 1) && (r = walk_next(walk, &entry)) > 0)
        if (entry.error == 0 && S_ISREG(entry.st.st_mode))
            r = take(pass, &entry, ctx);
        else if (entry.error != 0 && !walk_lost_it(&entry))
            moving_fail(moving, moving->order.kind != MOVE_BELOW ? entry.path : NULL, entry.error,
                        strerror(-entry.error));
    inode_close(moving_fs(moving)->inodes, moving->dir);
    tdestroy(pass->seen, ignore);
    pass->seen = NULL;
    return MIN(r, 0);
}

/* -- jobs -- */

static void note_moved(struct pass *pass, const struct relocation *relocation)
{
    pass->n_begun++;
    moving_note_moved(pass->moving, relocation->bytes);
}

/* Has the order wait for the job that a file has, if it is not over. Takes the reference. */
static void await(struct moving *moving, struct inode *inode)
{
    struct fs *fs = moving_fs(moving);
    struct job_view job;

    if (!jobs_of(fs->jobs, inode, &job) || job_is_over(&job)) {
        inode_unref(fs->inodes, inode);
        return;
    }
    jobs_hurry(fs->jobs, job.number,
               moving_limit(moving)); /* somebody may have paused it, or asked for a byte a second */
    moving_add(moving, inode);
}

static void fail_to_begin(struct moving *moving, const char *path, int r, const struct layout_error *error)
{
    moving_fail(moving, path, r,
                error->why[0] != 0 ? error->why
                : r == -ENOSPC     ? "a disk has no room for it until the change is over"
                : r == -EMFILE     ? "it takes more descriptors than all files that are moved may have together"
                                   : strerror(-r));
}

/* Gives a file the job that was decided. 0 also when it has another job; -ENOENT: the file is gone; -ENOSPC: the disks
 * have less room than was thought. */
static int begin(struct pass *pass, const char *path, const struct relocation *relocation,
                 struct layout_error *ret_error)
{
    struct moving *moving = pass->moving;
    struct fs *fs = moving_fs(moving);
    struct inode *inode = pass_find(pass, path);
    const struct job_asker asker = { moving->order.user, UINT64_MAX };
    struct file_layout *layout;
    uint64_t number;
    int r = inode != NULL ? 0 : -ENOENT;

    *ret_error = (struct layout_error){ 0 };
    if (r < 0)
        return r;
    r = membership_lay_out(fs, relocation, &layout, ret_error);
    if (r == 0) {
        r = jobs_add(fs->jobs, inode, layout, relocation->start, moving_limit(moving), &asker, &number);
        layouts_put(fs->layouts, layout);
    }
    if (r == 0)
        note_moved(pass, relocation);
    if (r == 0 || r == -EBUSY)
        await(moving, inode);
    else
        inode_unref(fs->inodes, inode);
    return r > 0 || r == -EBUSY ? 0 : r;
}

/* -- files -- */

bool pass_look_at(struct pass *pass, const struct walk_entry *entry, struct found *ret_found)
{
    struct fs *fs = moving_fs(pass->moving);

    *ret_found = (struct found){ .entry = entry };
    return !pass_has_seen(pass, entry) &&
           stub_read_record(fs->volume, entry->dir, entry->name, &ret_found->record) == 0 &&
           layouts_get(fs->layouts, ret_found->record.layout, &ret_found->layout) == 0;
}

int pass_move(struct pass *pass, const struct found *found, pass_decide *decide, void *ctx)
{
    struct layout_error error = { 0 };
    int r = -ENOSPC;

    for (int i = 0; i < 2 && r == -ENOSPC; i++) {
        cleanup(relocation_done) struct relocation relocation = { .text = NULL };

        if (i > 0)
            relocation_look_again(moving_fs(pass->moving), pass->disks);
        r = decide(pass, found, &relocation, ctx);
        if (r <= 0)
            return r;
        if (pass->is_trial)
            return 0;
        if (pass->moving->order.is_plan) {
            note_moved(pass, &relocation);
            return 0;
        }
        r = begin(pass, found->entry->path, &relocation, &error);
    }
    if (r < 0 && r != -ENOENT)
        fail_to_begin(pass->moving, found->entry->path, r, &error);
    return r == -ENOMEM ? r : 0;
}

void pass_await_other(struct pass *pass, const struct walk_entry *entry)
{
    struct inode *inode = pass->moving->order.is_plan ? NULL : pass_find(pass, entry->path);

    pass->n_busy++;
    if (inode != NULL)
        await(pass->moving, inode);
}

void pass_show_disks(const struct pass *pass, bool is_before)
{
    struct moving *moving = pass->moving;

    mutex_lock(&moving->mover->lock);
    for (uint32_t i = 0; i < MIN(moving->n_loads, pass->disks->n); i++)
        *(is_before ? &moving->load[i].before : &moving->load[i].after) = pass->disks->disk[i].ours;
    mutex_unlock(&moving->mover->lock);
}
