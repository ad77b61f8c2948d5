/* SPDX-License-Identifier: MIT */
/* Disks that are to leave are emptied, and then dropped.
 *
 *     round 1: all files ──> jobs ──> round 2: what was renamed or busy ──> ... ──> none left: drop the disk */
#include "fs/core/change/membership.h"
#include "fs/core/change/refill.h"
#include "fs/core/volume/file_layouts.h"
#include "fs/daemon/mover/drop_disk.h"
#include "fs/daemon/mover/kinds.h"
#include "fs/daemon/mover/pass.h"

#include <stdio.h>

#define PATIENCE 20 /* rounds in which nothing becomes of what is to move; and seconds for what no name leads to */
#define SECOND   1000
#define FILLING  (600 * SECOND) /* so long second copies may take to be made elsewhere */

/* One round through all files. */
struct round {
    struct pass pass;
    bool is_first;
    uint64_t n_found; /* files that are still to leave a disk */
};

static int decide_to_leave(struct pass *pass, const struct found *found, struct relocation *ret_relocation, void *ctx)
{
    uint64_t lacking;
    char why[MOVE_WHY];
    int r = relocation_leave(pass->disks, found->layout, &found->record, ret_relocation, &lacking);

    (void) ctx;
    if (r != -ENOSPC && r != -EEXIST)
        return r;
    if (r == -EEXIST)
        snprintf(why, sizeof why,
                 "its layout has copies 2, and the only other disk with room has the second copy: 'fallsctl disk add' "
                 "one, or give it a layout without copies");
    else
        snprintf(why, sizeof why, "no other disk has room for %" PRIu64 " bytes of it, which lie together", lacking);
    moving_fail(pass->moving, found->entry->path, r, why);
    return 0;
}

/* Counts, for who looks, what a file has on each disk, before it is decided that it moves. */
static void count_before(struct pass *pass, const struct found *found, struct placement *alone)
{
    struct moving *moving = pass->moving;

    for (uint32_t i = 0; i < alone->n; i++)
        alone->disk[i].ours = 0;
    if (relocation_count(alone, found->layout, &found->record) < 0)
        return;
    mutex_lock(&moving->mover->lock);
    for (uint32_t i = 0; i < MIN(moving->n_loads, alone->n); i++)
        moving->load[i].before += alone->disk[i].ours;
    mutex_unlock(&moving->mover->lock);
    for (uint32_t i = 0; i < alone->n; i++)
        pass->disks->disk[i].ours += alone->disk[i].ours;
}

/* Has replicas go from disks that are to leave; whether some are still there. */
static bool has_replicas_there(struct pass *pass, const struct found *found)
{
    struct fs *fs = moving_fs(pass->moving);
    struct inode *inode;
    bool stays = false;

    if (pass->moving->order.is_plan || (!found->record.has_map && found->layout->layout->copies < 2))
        return false;
    inode = pass_find(pass, found->entry->path);
    if (inode == NULL)
        return false;
    if (membership_drop_replicas(fs, inode, &stays) < 0)
        stays = true;
    inode_unref(fs->inodes, inode);
    return stays;
}

static int leave_one(struct pass *pass, const struct walk_entry *entry, void *ctx)
{
    cleanup(relocation_forget) struct placement alone = { .n = pass->disks->n,
                                                          .disk =
                                                              calloc(pass->disks->n, sizeof(struct placement_disk)) };
    struct round *round = ctx;
    struct found found;
    uint64_t before = pass->n_begun, failed = moving_failed(pass->moving);
    int r = alone.disk != NULL ? 0 : -ENOMEM;

    if (r < 0 || !pass_look_at(pass, entry, &found))
        return r;
    if (round->is_first) {
        moving_count_file(pass->moving);
        count_before(pass, &found, &alone);
    }
    if (record_migrates(&found.record)) {
        round->n_found += relocation_has_to_leave(pass->disks, found.layout, &found.record);
        pass_await_other(pass, entry);
    } else {
        r = pass_move(pass, &found, decide_to_leave, NULL);
    }
    if (pass->n_begun > before || moving_failed(pass->moving) > failed || has_replicas_there(pass, &found))
        round->n_found++;
    layouts_put(moving_fs(pass->moving)->layouts, found.layout);
    return r == -ENODEV ? 0 : r; /* a disk has joined since: the next pass knows it */
}

static int go_round(struct moving *moving, struct round *round)
{
    cleanup(relocation_forget) struct placement disks = { 0 };
    int r = relocation_look(moving_fs(moving), moving->order.is_plan ? moving->order.disk : RELOCATION_NONE, &disks);

    round->pass = (struct pass){ .moving = moving, .disks = &disks };
    moving_forget_failures(moving);
    if (r == 0)
        r = pass_go(&round->pass, leave_one, round);
    if (r == 0 && round->is_first)
        pass_show_disks(&round->pass, false);
    if (r == 0 && !moving_wait(moving, 0))
        r = -ECANCELED;
    round->pass.disks = NULL;
    return r;
}

/* Files may be renamed to where a round has looked already, or be on their way elsewhere: goes round until no file has
 * to leave, or nothing becomes of those that have to. */
static int leave_all(struct moving *moving)
{
    const uint64_t until = clock_ms() + FILLING;
    uint64_t least = UINT64_MAX;
    int idle = 0, r = 0;

    for (bool is_first = true;; is_first = false) {
        struct round round = { .is_first = is_first };

        r = go_round(moving, &round);
        if (r < 0 || moving->order.is_plan || (round.n_found == 0 && moving_failed(moving) == 0))
            return r;
        idle = round.n_found < least || (refills_count(moving_fs(moving)->refills) > 0 && clock_ms() < until)
                   ? 0
                   : idle + 1;
        least = MIN(least, round.n_found);
        if ((moving_failed(moving) > 0 && round.pass.n_begun == 0) || idle == PATIENCE) {
            moving_say(moving,
                       "%" PRIu64
                       " files stay on the disk, or are on their way to other layouts: 'fallsctl jobs' shows "
                       "these; then go on with the same command",
                       round.n_found);
            return -EBUSY;
        }
        if (round.pass.n_begun == 0 && !moving_rest(moving, SECOND))
            return -ECANCELED;
    }
}

/* Drops a disk. What was removed may take a moment to be gone, or be in use by somebody. */
static int drop(struct moving *moving, uint32_t disk)
{
    uint64_t until = clock_ms() + PATIENCE * SECOND;
    char why[LAST_ERROR_SIZE];
    int r;

    while ((r = drop_disk(moving_fs(moving), disk, why)) == -EBUSY && clock_ms() < until)
        if (!moving_rest(moving, SECOND / 5))
            return -ECANCELED;
    if (r == -EBUSY)
        moving_say(moving,
                   "%.300s: of files that were removed and are still open, or that no name leads to. Close them and go "
                   "on with the same command; 'fsck.fallsfs -n' shows what belongs to no file",
                   why);
    else if (r < 0)
        moving_say(moving, "%s", why);
    return r;
}

int move_leave(struct moving *moving)
{
    struct volume *volume = moving_fs(moving)->volume;
    int r = leave_all(moving);

    for (uint32_t i = 0; r == 0 && !moving->order.is_plan && i < volume->n_disks; i++)
        if (volume->disk[i].standing == DISK_LEAVING)
            r = drop(moving, i);
    return r;
}
