/* SPDX-License-Identifier: MIT */
#include "fs/core/fs.h"

#include "fs/core/change/jobs.h"
#include "fs/core/change/refill.h"
#include "fs/core/change/room_watch.h"
#include "fs/core/disk/walk.h"
#include "fs/core/file/file.h"
#include "fs/core/stub/todo.h"
#include "fs/core/tree/copier.h"
#include "fs/core/tree/defaults.h"
#include "fs/core/tree/reap.h"
#include "fs/core/tree/tree.h"
#include "fs/core/volume/costs.h"
#include "fs/core/volume/layout_texts.h"
#include "fs/core/volume/replica_map.h"
#include "fs/core/volume/room.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BEHIND  (UINT64_C(8) << 20)
#define WINDOW  (UINT64_C(4) << 20)
#define CONFIRM (UINT64_C(1) << 30)

/* Empties tmp/ of stubs that a crash left there: they have no name elsewhere yet, or have it already. */
static int empty_tmp(struct fs *fs)
{
    cleanup(walk_freep) struct walk *walk = NULL;
    struct walk_entry entry;
    int r = walk_new(fs_home(fs), fs->volume->tmp, &walk);

    while (r >= 0 && (r = walk_next(walk, &entry)) > 0) {
        if (entry.leaving)
            return entry.error;
        walk_skip(walk);
        (void) disk_call(fs_home(fs), unlink, entry.dir, entry.name, 0);
    }
    return r;
}

/* Removes texts of layouts that were half written when the last daemon died. A disk that cannot remove them says so
 * when it is written to. */
static void clear_texts(const struct volume *volume)
{
    for (uint32_t i = 0; !volume_last_ended_well(volume) && i < volume->n_disks; i++)
        if (disk_is_present(&volume->disk[i]))
            (void) layout_texts_clear(&volume->disk[i]);
}

static int take_gone(void *arg, const struct record *record)
{
    const struct fs *fs = arg;

    reaper_take_listed(fs->reaper, record);
    return 0;
}

static int take_moves(void *arg, const char *name, const struct stat *st)
{
    const struct fs *fs = arg;

    return jobs_take_up(fs->jobs, name, st);
}

/* -- what rooms below ask for -- */

static void call_moves(struct fs *fs, struct inode *inode)
{
    jobs_note(fs->jobs, inode);
}

static void call_follow(struct fs *fs, struct inode *inode)
{
    refills_note(fs->refills, inode);
}

static void call_copy(struct fs *fs, struct inode *inode)
{
    copier_take(fs->copier, inode);
}

static void call_reap(struct fs *fs, const struct record *record, bool is_listed)
{
    reaper_take(fs->reaper, record, is_listed);
}

static void call_await(struct fs *fs, bool is_new)
{
    reaper_await(fs->reaper, is_new);
}

static void call_has(struct fs *fs)
{
    reaper_has(fs->reaper);
}

static void call_make_room(struct fs *fs)
{
    jobs_make_room(fs->jobs);
    refills_make_room(fs->refills);
    reaper_wait(fs->reaper); /* what removed and truncated files held may be on its way out */
}

static void call_ask_room(struct fs *fs)
{
    room_ask(fs->room);
}

static void call_written(struct fs *fs, uint64_t bytes)
{
    room_note_written(fs->room, bytes);
}

static const struct fs_calls calls = { .moves = call_moves,
                                       .follow = call_follow,
                                       .copy = call_copy,
                                       .reap = call_reap,
                                       .await = call_await,
                                       .has = call_has,
                                       .make_room = call_make_room,
                                       .ask_room = call_ask_room,
                                       .written = call_written,
                                       .sync_dir = tree_sync_dir };

/* -- life -- */

/* Learns what disks cost that somebody has measured; the others are thought to be alike. */
static void learn_costs(struct volume *volume)
{
    struct costs costs;

    for (uint32_t i = 0; i < volume->n_disks; i++)
        if (disk_is_present(&volume->disk[i]) && costs_read(&volume->disk[i], volume->disk[i].uuid, &costs) == 0)
            costs_learn(&volume->disk[i], &costs);
}

static int start(struct fs *fs, const struct fs_options *options, struct volume_error *error)
{
    const struct layout_rule whole = { .layout = drop_const(options->layout), .where = drop_const(options->where) };
    const struct room_rule rule = { .reserve = options->reserve, .unit = room_unit(options->layout) };
    int r = layouts_new(fs->volume, &fs->layouts);

    if (r == 0)
        r = workers_new(options->n_threads, &fs->workers);
    if (r == 0)
        r = inodes_new(fs->volume, options->max_fds, &fs->inodes);
    if (r == 0)
        r = reaper_new(fs, &fs->reaper);
    if (r == 0)
        r = copier_new(fs, &fs->copier);
    if (r == 0)
        r = jobs_new(fs, options->max_job_fds, &fs->jobs);
    if (r == 0)
        r = refills_new(fs, &fs->refills);
    if (r == 0)
        r = room_new(fs, &rule, &fs->room);
    if (r < 0)
        return volume_fail(error, r, "cannot start: %s", strerror(-r));
    learn_costs(fs->volume);
    layouts_begin(fs->layouts, fs->workers);
    r = defaults_new(fs, &whole, options->rule, options->n_rules, &fs->defaults, error);
    if (r < 0 || fs->read_only)
        return r;
    clear_texts(fs->volume);
    r = empty_tmp(fs);
    if (r == 0)
        r = todo_take_up(fs->volume, &(struct todo_visit){ take_gone, take_moves, fs });
    return r < 0 ? volume_fail(error, r, "cannot finish what the last mount left: %s", strerror(-r)) : 0;
}

static void free_all(struct fs *fs, bool is_synced)
{
    if (fs->layouts != NULL)
        layouts_end(fs->layouts, is_synced);
    workers_free(fs->workers);
    room_free(fs->room);
    reaper_free(fs->reaper);
    copier_free(fs->copier);
    jobs_free(fs->jobs);
    refills_free(fs->refills);
    inodes_free(fs->inodes);
    defaults_free(fs->defaults);
    layouts_free(fs->layouts);
    volume_free(fs->volume);
    free(fs);
}

int fs_new(struct volume *volume, const struct fs_options *options, struct fs **ret_fs, struct volume_error *ret_error)
{
    struct fs *fs = calloc(1, sizeof *fs);
    int r;

    if (fs == NULL) {
        volume_free(volume);
        return volume_fail(ret_error, -ENOMEM, "out of memory");
    }
    fs->calls = &calls;
    fs->volume = volume;
    fs->read_only = (volume->flags & VOLUME_READ_ONLY) != 0;
    fs->privileged = geteuid() == 0;
    fs->noatime = options->noatime;
    fs->nodiratime = options->noatime || options->nodiratime;
    fs->behind = options->behind > 0 ? options->behind : BEHIND;
    fs->replica_shift = options->replica_shift > 0 ? options->replica_shift : REPLICA_USUAL_SHIFT;
    fs->window = options->window > 0 ? options->window : WINDOW;
    fs->confirm = options->confirm > 0 ? options->confirm : CONFIRM;
    r = start(fs, options, ret_error);
    if (r < 0) {
        free_all(fs, false);
        return r;
    }
    *ret_fs = fs;
    return 0;
}

struct ending {
    struct fs *fs;
    int error; /* the first */
};

/* Ends the use of an inode's file. Handles may still be open: the kernel releases them in its own time, and here nobody
 * is left to answer it. */
static void end_one(void *arg, struct inode *inode)
{
    struct ending *ending = arg;
    int r = file_end(ending->fs, inode);

    if (ending->error == 0)
        ending->error = r;
}

int fs_free(struct fs *fs)
{
    struct ending ending = { .fs = fs };
    bool is_synced;
    int r;

    room_stop(fs->room);
    jobs_stop(fs->jobs);
    refills_stop(fs->refills);
    workers_drain(fs->workers);
    inodes_visit(fs->inodes, end_one, &ending);
    workers_drain(fs->workers);
    r = ending.error;
    if (r == 0 && !fs->read_only)
        r = volume_sync(fs->volume);
    is_synced = r == 0;
    if (r == 0)
        r = volume_end_epoch(fs->volume); /* an epoch that did not end makes the next mount look for what was left */
    free_all(fs, is_synced);
    return r;
}
