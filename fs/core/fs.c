/* SPDX-License-Identifier: MIT */
#include "fs/core/fs.h"

#include "fs/core/copier.h"
#include "fs/core/defaults.h"
#include "fs/core/file.h"
#include "fs/core/jobs.h"
#include "fs/core/journal.h"
#include "fs/core/reap.h"
#include "fs/core/space.h"
#include "fs/core/walk.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BEHIND  (UINT64_C(8) << 20)
#define WINDOW  (UINT64_C(4) << 20)
#define CONFIRM (UINT64_C(1) << 30)

/* What a crash left in tmp/ has no name and never had. */
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

static int start(struct fs *fs, const struct fs_options *options, struct volume_error *error)
{
    int r = layouts_new(fs->volume, &fs->layouts);

    if (r == 0)
        r = workers_new(options->n_threads, &fs->workers);
    if (r == 0)
        r = inodes_new(fs->volume, fs->layouts, options->max_fds, &fs->inodes);
    if (r == 0)
        r = reaper_new(fs, &fs->reaper);
    if (r == 0)
        r = copier_new(fs, &fs->copier);
    if (r == 0)
        r = jobs_new(fs, &fs->jobs);
    if (r < 0)
        return volume_fail(error, r, "cannot start: %s", strerror(-r));
    r = defaults_new(fs, options, &fs->defaults, error);
    if (r == 0)
        space_note(fs);
    if (r < 0 || fs->read_only)
        return r;
    r = empty_tmp(fs);
    if (r == 0)
        r = journal_forget_gone(fs);
    if (r == 0)
        r = reaper_take_all(fs->reaper);
    if (r == 0)
        r = jobs_find(fs->jobs);
    return r < 0 ? volume_fail(error, r, "cannot finish what the last mount left: %s", strerror(-r)) : 0;
}

static void free_all(struct fs *fs)
{
    workers_free(fs->workers);
    reaper_free(fs->reaper);
    copier_free(fs->copier);
    jobs_free(fs->jobs);
    inodes_free(fs->inodes);
    defaults_free(fs, fs->defaults);
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
    fs->volume = volume;
    fs->read_only = (volume->flags & VOLUME_READ_ONLY) != 0;
    fs->privileged = geteuid() == 0;
    fs->behind = options->behind > 0 ? options->behind : BEHIND;
    fs->window = options->window > 0 ? options->window : WINDOW;
    fs->confirm = options->confirm > 0 ? options->confirm : CONFIRM;
    r = start(fs, options, ret_error);
    if (r < 0) {
        free_all(fs);
        return r;
    }
    *ret_fs = fs;
    return 0;
}

struct ending {
    struct fs *fs;
    int error; /* the first */
};

/* The kernel forgets handles in its own time; at the end nobody is left who would close them. */
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
    int r;

    jobs_stop(fs->jobs);
    workers_drain(fs->workers);
    inodes_visit(fs->inodes, end_one, &ending);
    workers_drain(fs->workers);
    r = ending.error;
    if (r == 0 && !fs->read_only)
        r = volume_sync(fs->volume);
    if (r == 0)
        r = volume_end_epoch(fs->volume); /* else the next mount looks at what this one did */
    free_all(fs);
    return r;
}
