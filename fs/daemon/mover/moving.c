/* SPDX-License-Identifier: MIT */
#include "fs/daemon/mover/moving.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PAUSE 20 /* ms between two looks at jobs */

static void free_failures(struct moving *moving)
{
    for (uint32_t i = 0; i < moving->n_failures; i++)
        free(moving->failure[i].path);
    moving->n_failures = 0;
}

void moving_free(struct moving *moving)
{
    struct inodes *inodes = moving_fs(moving)->inodes;

    for (uint32_t i = 0; i < moving->n_open; i++)
        inode_unref(inodes, moving->open[i]);
    inode_unref(inodes, moving->dir);
    free_failures(moving);
    free(moving->load);
    free(moving->word);
    free(moving->order.ctx);
    free(moving);
}

/* -- files that could not be moved -- */

static void note_failure(struct moving *moving, const char *path, int error, const char *why)
    REQUIRES(moving->mover->lock)
{
    struct move_failure *failure = &moving->failure[moving->n_failures];

    moving->view.failed++;
    moving->view.job.error = error;
    if (moving->n_failures == MOVE_FAILURES)
        return;
    failure->path = path != NULL ? strdup(path) : NULL;
    snprintf(failure->why, sizeof failure->why, "%s", why);
    moving->n_failures++;
}

void moving_fail(struct moving *moving, const char *path, int error, const char *why)
{
    mutex_lock(&moving->mover->lock);
    note_failure(moving, path, error, why);
    mutex_unlock(&moving->mover->lock);
}

void moving_forget_failures(struct moving *moving)
{
    mutex_lock(&moving->mover->lock);
    free_failures(moving);
    moving->view.failed = 0;
    moving->view.job.error = 0;
    mutex_unlock(&moving->mover->lock);
}

uint64_t moving_failed(struct moving *moving)
{
    uint64_t failed;

    mutex_lock(&moving->mover->lock);
    failed = moving->view.failed;
    mutex_unlock(&moving->mover->lock);
    return failed;
}

void moving_note_moved(struct moving *moving, uint64_t bytes)
{
    mutex_lock(&moving->mover->lock);
    moving->moved++;
    moving->bytes += bytes;
    mutex_unlock(&moving->mover->lock);
}

void moving_count_file(struct moving *moving)
{
    mutex_lock(&moving->mover->lock);
    moving->view.files++;
    mutex_unlock(&moving->mover->lock);
}

uint64_t moving_limit(struct moving *moving)
{
    uint64_t limit;

    mutex_lock(&moving->mover->lock);
    limit = moving->limit;
    mutex_unlock(&moving->mover->lock);
    return limit;
}

void moving_say(struct moving *moving, const char *fmt, ...)
{
    va_list list;

    va_start(list, fmt);
    mutex_lock(&moving->mover->lock);
    vsnprintf(moving->result, sizeof moving->result, fmt, list);
    mutex_unlock(&moving->mover->lock);
    va_end(list);
}

/* -- jobs; the lock is held -- */

static void add_job(struct move_view *view, const struct job_view *job)
{
    view->job.done += job->done;
    view->job.total += job->total;
}

/* Counts the jobs that are over and takes them out. The references on their inodes are the caller's, to be given back
 * without the lock, which is held here, and which the caller knows by another name. */
static uint32_t take_over(struct moving *moving, struct inode *ret_over[static MOVE_JOBS]) NO_LOCK_ANALYSIS
{
    struct fs *fs = moving_fs(moving);
    uint32_t n_over = 0, n = 0;

    for (uint32_t i = 0; i < moving->n_open; i++) {
        struct job_view job = { .state = JOB_DONE };
        cleanup(freep) char *path = NULL;

        if (jobs_of(fs->jobs, moving->open[i], &job) && !job_is_over(&job)) {
            moving->open[n++] = moving->open[i];
            continue;
        }
        add_job(&moving->view, &job);
        if (job.state == JOB_FAILED) {
            (void) inode_path(fs->inodes, moving->open[i], &path);
            note_failure(moving, path, job.error, strerror(-job.error));
            moving->moved--;
        }
        ret_over[n_over++] = moving->open[i];
    }
    moving->n_open = n;
    return n_over;
}

static void wait_a_while(struct mover *mover, uint32_t ms) REQUIRES(mover->lock)
{
    (void) cond_wait_until_ms(&mover->changed, &mover->lock, clock_in_ms(ms));
}

static bool shall_end(const struct moving *moving)
{
    return moving->is_cancelled || moving->mover->stop;
}

bool moving_is_of_root(const struct moving *moving)
{
    return moving->order.user == 0 || moving->order.user == geteuid();
}

/* Whether an order waits while root moves files for the sake of disks. The lock is held. */
static bool is_held(const struct moving *moving)
{
    const struct moving *other = moving->mover->first;

    if (moving_is_of_root(moving) || shall_end(moving))
        return false;
    while (other != NULL && !(other->goes_on && moving_is_about_disks(other) && !other->is_paused))
        other = other->next;
    return other != NULL;
}

/* -- waiting -- */

bool moving_wait(struct moving *moving, uint32_t most)
{
    struct mover *mover = moving->mover;
    struct inode *over[MOVE_JOBS];
    bool go_on;

    mutex_lock(&mover->lock);
    for (;;) {
        uint32_t n = take_over(moving, over);

        if (n > 0) {
            mutex_unlock(&mover->lock);
            for (uint32_t i = 0; i < n; i++)
                inode_unref(mover->fs->inodes, over[i]);
            mutex_lock(&mover->lock);
        }
        go_on = !shall_end(moving);
        if (mover->stop || /* jobs of a cancelled order end soon */
            (!moving->is_paused && moving->n_open <= most && (most == 0 || !is_held(moving))))
            break;
        wait_a_while(mover, PAUSE);
    }
    mutex_unlock(&mover->lock);
    return go_on;
}

bool moving_rest(struct moving *moving, uint32_t ms)
{
    uint64_t until = clock_ms() + ms;
    bool go_on;

    mutex_lock(&moving->mover->lock);
    while ((go_on = !shall_end(moving)) && clock_ms() < until)
        wait_a_while(moving->mover, ms);
    mutex_unlock(&moving->mover->lock);
    return go_on;
}

/* Gives a job of the order an order. What root waits for is not paused by anybody else. */
static void order_job(const struct moving *moving, struct inode *inode, enum job_order order)
{
    struct jobs *jobs = moving_fs(moving)->jobs;
    struct job_view job;

    if (jobs_of(jobs, inode, &job) && (order != JOB_PAUSE || !job.is_hurried || moving_is_of_root(moving)))
        (void) jobs_order(jobs, job.number, order);
}

void moving_add(struct moving *moving, struct inode *inode)
{
    mutex_lock(&moving->mover->lock);
    moving->open[moving->n_open++] = inode;
    if (moving->is_cancelled || moving->is_paused) /* said while it was being begun */
        order_job(moving, inode, moving->is_cancelled ? JOB_CANCEL : JOB_PAUSE);
    mutex_unlock(&moving->mover->lock);
}

/* -- from outside; the lock is held -- */

void moving_order(struct moving *moving, enum job_order order)
{
    moving->is_cancelled |= order == JOB_CANCEL;
    moving->is_paused = order == JOB_PAUSE && !moving->is_cancelled;
    for (uint32_t i = 0; i < moving->n_open; i++)
        order_job(moving, moving->open[i], order);
    cond_broadcast(&moving->mover->changed);
}

void moving_look(const struct moving *moving, struct move_view *ret_view)
{
    *ret_view = moving->view;
    if (!job_is_over(&moving->view.job)) {
        ret_view->job.state = moving->is_paused ? JOB_PAUSED : is_held(moving) ? JOB_WAITS : JOB_RUNS;
        ret_view->job.ms = clock_ms() - moving->began;
    }
    for (uint32_t i = 0; i < moving->n_open; i++) {
        struct job_view job;

        if (jobs_of(moving_fs(moving)->jobs, moving->open[i], &job)) {
            add_job(ret_view, &job);
            ret_view->job.rate += job.state == JOB_RUNS ? job.rate : 0;
        }
    }
}
