/* SPDX-License-Identifier: MIT */
#include "fs/core/reap.h"

#include "fs/core/copy.h"
#include "fs/core/file.h"
#include "fs/core/journal.h"
#include "fs/core/subfile.h"
#include "fs/core/walk.h"

#include <fcntl.h>
#include <string.h>

void reap_name(const struct record *record, bool waits, char ret_name[static REAP_NAME])
{
    hex_print(record->id, ID_SIZE, ret_name);
    if (waits)
        memcpy(ret_name + 2 * ID_SIZE, ".w", sizeof ".w");
}

void reap_spare(struct fs *fs, struct inode *inode, const struct record *record)
{
    const struct disk *home = fs_home(fs);
    char name[REAP_NAME];
    struct stat st;

    if (!atomic_load(&inode->has_spare) || inode_withhold(fs->inodes, inode, false) < 0)
        return;
    reap_name(record, true, name);
    /* One without others should not be; then there are bytes to be removed, which the next mount does. */
    if (disk_call(home, stat, fs->volume->todo, name, &st) == 0 && st.st_nlink > 1 &&
        disk_call(home, unlink, fs->volume->todo, name, 0) == 0) {
        inode_unnamed(fs->inodes, inode, NULL, name, NULL);
        atomic_store(&inode->has_spare, false);
    }
    inode_release(fs->inodes, inode);
}

/* All generations there may be, each with the layout it had. */
static int remove_subfiles(struct fs *fs, const struct record *record)
{
    struct file_layout *layout;
    int r = layouts_get(fs->layouts, record->layout, &layout);

    if (r < 0)
        return r;
    r = subfile_remove_all(fs, record, layout, record->gen, record->gen + 1);
    if (r == 0)
        r = copy_remove(fs->volume, record, layout);
    layouts_put(fs->layouts, layout);
    if (record->oldest_gen == record->gen)
        return r;
    if (r == 0)
        r = layouts_get(fs->layouts, record->old_layout, &layout);
    if (r < 0)
        return r;
    r = subfile_remove_old(fs, record, layout);
    layouts_put(fs->layouts, layout);
    return r;
}

/* What a migration filled and nobody will use, and its journal. */
static int remove_migration(struct fs *fs, const struct record *record)
{
    struct file_layout *layout;
    char name[REAP_NAME];
    int r = record_migrates(record) ? layouts_get(fs->layouts, record->target_layout, &layout) : 1;

    if (r == 0) {
        r = subfile_remove_target(fs, record, layout);
        layouts_put(fs->layouts, layout);
    }
    if (r < 0)
        return r;
    journal_name(record, name);
    r = disk_call(fs_home(fs), unlink, fs->volume->todo, name, 0);
    return r == -ENOENT ? 0 : r;
}

static int reap(struct fs *fs, const struct record *record)
{
    char name[REAP_NAME];
    int r = remove_subfiles(fs, record);

    if (r == 0)
        r = remove_migration(fs, record);
    if (r < 0)
        return r;
    reap_name(record, false, name);
    r = disk_call(fs_home(fs), unlink, fs->volume->todo, name, 0);
    return r == -ENOENT ? 0 : r;
}

/* -- some time later -- */

struct waiting {
    struct record record;
    struct waiting *next;
};

struct reaper {
    struct fs *fs;
    pthread_mutex_t lock;
    struct waiting *first;   /* lock */
    struct waiting *refused; /* lock; a disk did not let them go */
    bool at_work;            /* lock */
};

struct reaper_job {
    struct job job;
    struct reaper *reaper;
};

int reaper_new(struct fs *fs, struct reaper **ret_reaper)
{
    struct reaper *reaper = calloc(1, sizeof *reaper);

    if (reaper == NULL)
        return -ENOMEM;
    reaper->fs = fs;
    pthread_mutex_init(&reaper->lock, NULL);
    *ret_reaper = reaper;
    return 0;
}

static void free_all(struct waiting *waiting)
{
    while (waiting != NULL) {
        struct waiting *next = waiting->next;

        free(waiting);
        waiting = next;
    }
}

void reaper_free(struct reaper *reaper)
{
    if (reaper == NULL)
        return;
    free_all(reaper->first);
    free_all(reaper->refused);
    pthread_mutex_destroy(&reaper->lock);
    free(reaper);
}

/* All that wait; none: the work is over. */
static struct waiting *next_batch(struct reaper *reaper)
{
    struct waiting *batch;

    pthread_mutex_lock(&reaper->lock);
    batch = steal(reaper->first);
    reaper->at_work = batch != NULL;
    pthread_mutex_unlock(&reaper->lock);
    return batch;
}

/* Makes todo/ durable. XFS does not say of a directory that the disk is gone, only of a file. */
static int sync_list(struct fs *fs, const struct record *record)
{
    const struct disk *home = fs_home(fs);
    int fd, r = disk_call(home, sync, fs->volume->todo, SYNC_ALL);
    char name[REAP_NAME];

    if (r < 0)
        return r;
    reap_name(record, false, name);
    fd = disk_call(home, open, fs->volume->todo, name, O_RDONLY | O_NONBLOCK, 0);
    r = fd < 0 ? fd : disk_call(home, sync, fd, SYNC_ALL);
    disk_close(home, &fd);
    return r;
}

/* It stays listed; the next mount would try again, too. */
static void refuse(struct reaper *reaper, struct waiting *waiting)
{
    pthread_mutex_lock(&reaper->lock);
    waiting->next = reaper->refused;
    reaper->refused = waiting;
    pthread_mutex_unlock(&reaper->lock);
}

static void run(struct job *job)
{
    struct reaper *reaper = ((struct reaper_job *) job)->reaper;
    struct waiting *batch;

    while ((batch = next_batch(reaper)) != NULL) {
        int r = sync_list(reaper->fs, &batch->record);

        while (batch != NULL) {
            struct waiting *next = batch->next;

            if (r < 0 || reap(reaper->fs, &batch->record) < 0)
                refuse(reaper, batch);
            else
                free(batch);
            batch = next;
        }
    }
    free(job);
}

/* Has the work done, unless somebody is at it. */
static void work(struct reaper *reaper)
{
    struct reaper_job *job = calloc(1, sizeof *job);
    bool at_work;

    if (job == NULL)
        return; /* the next one to come does it, or who tries again */
    *job = (struct reaper_job){ .job = { .run = run }, .reaper = reaper };
    pthread_mutex_lock(&reaper->lock);
    at_work = reaper->at_work;
    reaper->at_work = true;
    pthread_mutex_unlock(&reaper->lock);
    if (at_work)
        free(job);
    else
        workers_later(reaper->fs->workers, &job->job);
}

static struct waiting *new_waiting(const struct record *record)
{
    struct waiting *waiting = calloc(1, sizeof *waiting);

    if (waiting != NULL)
        waiting->record = *record;
    return waiting;
}

static void take_later(struct reaper *reaper, const struct record *record)
{
    struct waiting *waiting = new_waiting(record);

    if (waiting == NULL)
        return; /* it stays listed */
    pthread_mutex_lock(&reaper->lock);
    waiting->next = reaper->first;
    reaper->first = waiting;
    pthread_mutex_unlock(&reaper->lock);
    work(reaper);
}

void reaper_retry(struct reaper *reaper)
{
    bool any;

    pthread_mutex_lock(&reaper->lock);
    if (reaper->first == NULL)
        reaper->first = steal(reaper->refused);
    any = reaper->first != NULL;
    pthread_mutex_unlock(&reaper->lock);
    if (any)
        work(reaper);
}

/* Whether a crash could bring the file back with bytes that somebody counts on: those of an fsync, and all that
 * outlived an earlier mount. */
static bool is_promised(const struct fs *fs, const struct record *record)
{
    return record->durable_size > 0 || record->oldest_gen < record->gen || record->born < fs->volume->epoch;
}

void reaper_take(struct reaper *reaper, const struct record *record)
{
    struct waiting *waiting;

    if (is_promised(reaper->fs, record))
        take_later(reaper, record);
    else if (reap(reaper->fs, record) < 0 && (waiting = new_waiting(record)) != NULL)
        refuse(reaper, waiting);
}

/* -- after a crash -- */

static int take_entry(struct reaper *reaper, const struct walk_entry *entry)
{
    struct fs *fs = reaper->fs;
    int r, todo = fs->volume->todo;
    char plain[REAP_NAME];
    struct record record;

    if (entry->error < 0)
        return entry->error;
    if (entry->st.st_nlink > 1) /* it was about to go and did not */
        return disk_call(fs_home(fs), unlink, todo, entry->name, 0);
    r = file_read_record(fs, todo, entry->name, &record);
    if (r == 0) {
        reap_name(&record, false, plain);
        if (strcmp(entry->name, plain) != 0)
            r = disk_call(fs_home(fs), rename, todo, entry->name, todo, plain, 0);
    }
    if (r == 0)
        take_later(reaper, &record);
    return r; /* one without a record is left for fsck */
}

int reaper_take_all(struct reaper *reaper)
{
    cleanup(walk_freep) struct walk *walk = NULL;
    struct walk_entry entry;
    int r = walk_new(fs_home(reaper->fs), reaper->fs->volume->todo, &walk);

    while (r >= 0 && (r = walk_next(walk, &entry)) > 0) {
        if (entry.leaving)
            return entry.error;
        walk_skip(walk);
        if (!journal_is_name(entry.name))
            (void) take_entry(reaper, &entry);
    }
    return r;
}
