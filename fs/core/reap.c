/* SPDX-License-Identifier: MIT */
#include "fs/core/reap.h"

#include "fs/core/copy.h"
#include "fs/core/file.h"
#include "fs/core/subfile.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>

void reap_name(const struct record *record, bool waits, char ret_name[static REAP_NAME])
{
    hex_print(record->id, ID_SIZE, ret_name);
    if (waits)
        memcpy(ret_name + 2 * ID_SIZE, ".w", sizeof ".w");
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
    r = subfile_remove_all(fs, record, layout, record->oldest_gen, record->gen);
    layouts_put(fs->layouts, layout);
    return r;
}

static int reap(struct fs *fs, const struct record *record)
{
    char name[REAP_NAME];
    int r = remove_subfiles(fs, record);

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

void reaper_free(struct reaper *reaper)
{
    if (reaper == NULL)
        return;
    while (reaper->refused != NULL) {
        struct waiting *next = reaper->refused->next;

        free(reaper->refused);
        reaper->refused = next;
    }
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
        return; /* the next one to come does it */
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
    any = reaper->refused != NULL && reaper->first == NULL;
    if (any)
        reaper->first = steal(reaper->refused);
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

static int take_entry(struct reaper *reaper, const char *name)
{
    struct fs *fs = reaper->fs;
    char plain[REAP_NAME];
    struct record record;
    struct stat st;
    int r = disk_call(fs_home(fs), stat, fs->volume->todo, name, &st);

    if (r < 0)
        return r;
    if (st.st_nlink > 1) /* it was about to go and did not */
        return disk_call(fs_home(fs), unlink, fs->volume->todo, name, 0);
    r = file_read_record(fs, fs->volume->todo, name, &record);
    if (r == 0) {
        reap_name(&record, false, plain);
        if (strcmp(name, plain) != 0)
            r = disk_call(fs_home(fs), rename, fs->volume->todo, name, fs->volume->todo, plain, 0);
    }
    if (r == 0)
        take_later(reaper, &record);
    return r; /* one without a record is left for fsck */
}

int reaper_take_all(struct reaper *reaper)
{
    _Alignas(struct dirent64) char buf[8192];
    struct fs *fs = reaper->fs;
    const struct disk *home = fs_home(fs);
    ssize_t n = 0;
    int fd = disk_call(home, open, fs->volume->todo, ".", O_RDONLY | O_DIRECTORY, 0);

    if (fd < 0)
        return fd;
    while ((n = disk_call(home, read_dir, fd, buf, sizeof buf)) > 0)
        for (ssize_t at = 0; at < n;) {
            const struct dirent64 *entry = (const void *) (buf + at);

            at += entry->d_reclen;
            if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                (void) take_entry(reaper, entry->d_name);
        }
    disk_close(home, &fd);
    return n < 0 ? (int) n : 0;
}
