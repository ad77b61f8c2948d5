/* SPDX-License-Identifier: MIT */
#include "fs/core/tree/reap.h"

#include "fs/core/stub/objects.h"
#include "fs/core/stub/todo.h"

#include <fcntl.h>
#include <string.h>

static int unlist(struct fs *fs, const struct record *record, enum todo_kind kind)
{
    char name[TODO_NAME];
    int r;

    todo_name(record, kind, name);
    r = disk_call(fs_home(fs), unlink, fs->volume->todo, name, 0);
    return r == -ENOENT ? 0 : r;
}

static int reap(struct fs *fs, const struct record *record, bool is_listed)
{
    int r = objects_remove(fs->volume, fs->layouts, record);

    if (r == 0)
        r = unlist(fs, record, TODO_MOVES);
    if (r == 0 && is_listed)
        r = unlist(fs, record, TODO_GONE);
    if (r == 0)
        (void) layouts_give_up(fs->layouts, record);
    return r;
}

/* -- some time later -- */

struct waiting {
    struct record record;
    bool is_listed;
    struct waiting *next;
};

struct reaper {
    struct fs *fs;
    struct mutex lock;
    struct waiting *first;   /* lock */
    struct waiting *refused; /* lock; those that a disk has refused to remove */
    bool at_work;            /* lock */
    uint64_t n_awaited;      /* lock; files that the kernel has to forget */
    uint64_t awaited_last;   /* lock; when reaper_await was last told of one, by clock_ms */
    struct cond came;        /* of lock; n_awaited is 0 */
};

struct reaper_job {
    struct chore chore;
    struct reaper *reaper;
};

int reaper_new(struct fs *fs, struct reaper **ret_reaper)
{
    struct reaper *reaper = calloc(1, sizeof *reaper);

    if (reaper == NULL)
        return -ENOMEM;
    reaper->fs = fs;
    mutex_init(&reaper->lock);
    cond_init(&reaper->came);
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
    cond_done(&reaper->came);
    mutex_done(&reaper->lock);
    free(reaper);
}

/* Takes all files that wait to be removed; NULL: there are none, and the work is over. */
static struct waiting *next_batch(struct reaper *reaper)
{
    struct waiting *batch;

    mutex_lock(&reaper->lock);
    batch = steal(reaper->first);
    reaper->at_work = batch != NULL;
    mutex_unlock(&reaper->lock);
    return batch;
}

/* Makes todo/ durable. A file in it is synced as well: when a disk is gone, XFS says so of a file, but not of a
 * directory. */
static int sync_list(struct fs *fs, const struct waiting *waiting)
{
    const struct disk *home = fs_home(fs);
    int fd, r = disk_call(home, sync, fs->volume->todo, SYNC_ALL);
    char name[TODO_NAME];

    while (waiting != NULL && !waiting->is_listed)
        waiting = waiting->next;
    if (r < 0 || waiting == NULL)
        return r;
    todo_name(&waiting->record, TODO_GONE, name);
    fd = disk_call(home, open, fs->volume->todo, name, O_RDONLY | O_NONBLOCK, 0);
    r = fd < 0 ? fd : disk_call(home, sync, fd, SYNC_ALL);
    disk_close(home, &fd);
    return r;
}

/* Keeps a file that could not be removed for reaper_retry. If it is listed it stays so: the next mount would try again,
 * too. */
static void refuse(struct reaper *reaper, struct waiting *waiting)
{
    mutex_lock(&reaper->lock);
    waiting->next = reaper->refused;
    reaper->refused = waiting;
    mutex_unlock(&reaper->lock);
}

static void run(struct chore *chore)
{
    struct reaper *reaper = ((struct reaper_job *) chore)->reaper;
    struct waiting *batch;

    while ((batch = next_batch(reaper)) != NULL) {
        int r = sync_list(reaper->fs, batch);

        while (batch != NULL) {
            struct waiting *next = batch->next;

            if (r < 0 || reap(reaper->fs, &batch->record, batch->is_listed) < 0)
                refuse(reaper, batch);
            else
                free(batch);
            batch = next;
        }
    }
    free(chore);
}

/* Has a later chore remove the files that wait, unless one is at it already. */
static void work(struct reaper *reaper)
{
    struct reaper_job *chore = calloc(1, sizeof *chore);
    bool at_work;

    if (chore == NULL)
        return; /* the next file to be removed begins the work, or reaper_retry */
    *chore = (struct reaper_job){ .chore = { .run = run }, .reaper = reaper };
    mutex_lock(&reaper->lock);
    at_work = reaper->at_work;
    reaper->at_work = true;
    mutex_unlock(&reaper->lock);
    if (at_work)
        free(chore);
    else
        workers_later(reaper->fs->workers, &chore->chore);
}

static struct waiting *new_waiting(const struct record *record, bool is_listed)
{
    struct waiting *waiting = calloc(1, sizeof *waiting);

    if (waiting != NULL)
        *waiting = (struct waiting){ .record = *record, .is_listed = is_listed };
    return waiting;
}

static void take_later(struct reaper *reaper, const struct record *record, bool is_listed)
{
    struct waiting *waiting = new_waiting(record, is_listed);

    if (waiting == NULL)
        return; /* the file stays listed: the next mount removes it */
    mutex_lock(&reaper->lock);
    waiting->next = reaper->first;
    reaper->first = waiting;
    mutex_unlock(&reaper->lock);
    work(reaper);
}

void reaper_retry(struct reaper *reaper)
{
    bool any;

    mutex_lock(&reaper->lock);
    if (reaper->first == NULL)
        reaper->first = steal(reaper->refused);
    any = reaper->first != NULL;
    mutex_unlock(&reaper->lock);
    if (any)
        work(reaper);
}

/* Whether a crash could bring the file back with bytes that somebody counts on: those of an fsync, and all that
 * outlived an earlier mount. */
static bool is_promised(const struct fs *fs, const struct record *record)
{
    return record->durable_size > 0 || record->oldest_gen < record->gen || record->born < fs->volume->epoch;
}

void reaper_take(struct reaper *reaper, const struct record *record, bool is_listed)
{
    struct waiting *waiting;

    if (is_promised(reaper->fs, record))
        take_later(reaper, record, is_listed);
    else if (reap(reaper->fs, record, is_listed) < 0 && (waiting = new_waiting(record, is_listed)) != NULL)
        refuse(reaper, waiting);
}

/* -- what the kernel has to forget first -- */

#define PATIENCE 1000 /* ms: what it has not forgotten by then, somebody holds */

void reaper_await(struct reaper *reaper, bool is_new)
{
    mutex_lock(&reaper->lock);
    reaper->n_awaited += is_new;
    reaper->awaited_last = clock_ms();
    mutex_unlock(&reaper->lock);
}

void reaper_has(struct reaper *reaper)
{
    mutex_lock(&reaper->lock);
    assert(reaper->n_awaited > 0);
    if (--reaper->n_awaited == 0)
        cond_broadcast(&reaper->came);
    mutex_unlock(&reaper->lock);
}

void reaper_wait(struct reaper *reaper)
{
    uint64_t until;

    mutex_lock(&reaper->lock);
    until = reaper->awaited_last + PATIENCE;
    while (reaper->n_awaited > 0 && cond_wait_until_ms(&reaper->came, &reaper->lock, until))
        ;
    mutex_unlock(&reaper->lock);
    workers_wait_later(reaper->fs->workers);
}

void reaper_take_listed(struct reaper *reaper, const struct record *record)
{
    take_later(reaper, record, true);
}
