/* SPDX-License-Identifier: MIT */
/* Which job is worked on, and when: one at a time, by one thread, which leaves the disks to users first. */
#include "fs/core/change/job_step.h"

#define QUIET 10 /* ms between two looks whether users still want the disks */
#define YIELD 4  /* so many times as long as a step took, users have the disks to themselves */

/* Whether a job has been given an order that nobody has carried out so far. The lock is held. */
static bool is_to_change(const struct job *job)
{
    return (job->shall_end && job->view.state != JOB_ENDS) || job->shall_pause != (job->view.state == JOB_PAUSED);
}

/* Whether there is something to do for a job now. */
static bool has_work(struct jobs *jobs, const struct job *job, uint64_t now) REQUIRES(jobs->lock)
{
    if (job_has_ended(job) || job->is_busy || now < job->not_before)
        return false;
    if (is_to_change(job))
        return true;
    if (job->view.state == JOB_ENDS) /* copies nothing any more, so no limit holds it up */
        return true;
    if (now < job->rests_until || (job->view.state == JOB_WAITS && !job_has_place(job)) ||
        (job->view.state == JOB_PAUSED && job->shall_pause))
        return inode_is_gone(jobs->fs->inodes, job->inode);
    return true;
}

/* Whose turn it is: the lowest number is next. Root has every other turn, the others have the rest, each after all
 * others. */
static uint64_t turn_of(const struct jobs *jobs, const struct job_user *user) REQUIRES(jobs->lock)
{
    return user->uid == 0 && jobs->last_turn != user->turn ? 0 : user->turn + 1;
}

/* Whether a job is to be worked on before another one that was asked for earlier: if somebody waits for what he has
 * ordered; if it is the turn of its user; if it has begun, and the other one of this user has not. */
static bool goes_before(const struct jobs *jobs, const struct job *job, const struct job *other) REQUIRES(jobs->lock)
{
    if (is_to_change(job) != is_to_change(other))
        return is_to_change(job);
    if (job->user != other->user)
        return turn_of(jobs, job->user) < turn_of(jobs, other->user);
    return job->view.state == JOB_RUNS && other->view.state != JOB_RUNS;
}

/* Finds the job that is to be worked on next, and makes it busy. NULL: none has anything to do. */
static struct job *take(struct jobs *jobs) REQUIRES(jobs->lock)
{
    uint64_t now = clock_ms();
    struct job *found = NULL;

    for (uint32_t i = 0; i < jobs->n; i++)
        if (has_work(jobs, jobs->job[i], now) && (found == NULL || goes_before(jobs, jobs->job[i], found)))
            found = jobs->job[i];
    if (found != NULL) {
        found->is_busy = true;
        found->user->turn = jobs->last_turn = ++jobs->n_events;
    }
    return found;
}

bool jobs_step(struct jobs *jobs)
{
    struct job *job;

    mutex_lock(&jobs->lock);
    job = take(jobs);
    mutex_unlock(&jobs->lock);
    if (job == NULL)
        return false;
    job_work_on(jobs, job);
    job_let_go(jobs, job);
    job_forget_oldest(jobs);
    return true;
}

/* -- the thread -- */

static bool users_work(const struct fs *fs, uint64_t n_io)
{
    return atomic_load(&fs->n_io) != n_io || atomic_load(&fs->n_io_over) != n_io;
}

/* Leaves the disks to users for a while: as long as users want something of them, jobs have them for a part of the
 * time. */
static void yield_to_users(struct jobs *jobs, uint64_t took)
{
    uint64_t until = clock_ms() + MAX(YIELD * took, 1);
    bool go_on = true;

    mutex_lock(&jobs->lock);
    while (go_on && clock_ms() < until) {
        uint64_t n_io = atomic_load(&jobs->fs->n_io);

        go_on = jobs_wait_a_while(jobs, QUIET) && users_work(jobs->fs, n_io);
    }
    mutex_unlock(&jobs->lock);
}

/* Lets a job rest, so that it does not become faster than its limit, while others go on. What it copied before it was
 * paused counts as well: pausing and resuming are steps of their own, without a byte. */
static void rest(struct jobs *jobs, struct job *job, uint64_t limit, uint64_t bytes, uint64_t took)
{
    uint64_t ms = (uint64_t) ((double) bytes * 1000 / (double) limit);

    mutex_lock(&jobs->lock);
    job->rests_until = MAX(job->rests_until, clock_ms() + (ms > took ? ms - took : 0));
    mutex_unlock(&jobs->lock);
}

/* How long no job will have anything to do, for all that is known. */
static uint64_t until_next(const struct jobs *jobs) REQUIRES(jobs->lock)
{
    uint64_t now = clock_ms(), ms = JOB_LATER;

    for (uint32_t i = 0; i < jobs->n; i++) {
        const struct job *job = jobs->job[i];

        if (job->view.state == JOB_RUNS && job->rests_until > now)
            ms = MIN(ms, job->rests_until - now);
    }
    return ms;
}

static void *work(void *arg)
{
    struct jobs *jobs = arg;
    bool go_on = true;

    while (go_on) {
        uint64_t began = clock_ms(), n_io = atomic_load(&jobs->fs->n_io), bytes, took, limit = 0;
        struct job *job;

        mutex_lock(&jobs->lock);
        job = jobs->stop ? NULL : take(jobs);
        if (job == NULL)
            go_on = jobs_wait_a_while(jobs, until_next(jobs));
        else
            limit = job->view.limit;
        mutex_unlock(&jobs->lock);
        if (job == NULL)
            continue;
        bytes = job->view.done;
        job_work_on(jobs, job);
        bytes = job->view.done - MIN(bytes, job->view.done);
        took = clock_ms() - began;
        if (limit > 0)
            rest(jobs, job, limit, bytes, took);
        job_let_go(jobs, job);
        job_forget_oldest(jobs);
        if (limit == 0 && bytes > 0 && users_work(jobs->fs, n_io))
            yield_to_users(jobs, took);
    }
    return NULL;
}

int jobs_start(struct jobs *jobs)
{
    int r;

    if (jobs->fs->read_only)
        return 0;
    r = pthread_create(&jobs->thread, NULL, work, jobs);
    jobs->has_thread = r == 0;
    return -r;
}

void jobs_stop(struct jobs *jobs)
{
    mutex_lock(&jobs->lock);
    jobs->stop = true;
    cond_broadcast(&jobs->changed);
    mutex_unlock(&jobs->lock);
    if (jobs->has_thread)
        pthread_join(jobs->thread, NULL);
    while (jobs->n > 0) {
        struct job *job = jobs->job[jobs->n - 1];

        job_take_out(jobs, job);
        if (job->file != NULL)
            (void) migration_confirm(&job->migration); /* else the next mount does more than it would have to */
        job_free(jobs, job);
    }
}
