/* SPDX-License-Identifier: MIT */
#include "fs/core/change/job_list.h"

#include "fs/core/file/file.h"

#include <string.h>
#include <time.h>

#define MAX_OVER 64 /* jobs that are over and still told of */

void job_free(struct jobs *jobs, struct job *job)
{
    migration_done(&job->migration);
    free(job->fills);
    atomic_fetch_add(&jobs->n_freed, sizeof *job + job->n_fills);
    if (job->file != NULL)
        file_put(jobs->fs, job->file);
    inode_unref(jobs->fs->inodes, job->inode);
    free(job);
}

/* -- who has asked -- */

/* Finds what is known of a user, or begins to know him; NULL without memory. */
static struct job_user *find_user(struct jobs *jobs, uid_t uid) REQUIRES(jobs->lock)
{
    struct job_user *user = jobs->users;

    while (user != NULL && user->uid != uid)
        user = user->next;
    if (user == NULL && (user = calloc(1, sizeof *user)) != NULL) {
        *user = (struct job_user){ .uid = uid, .next = jobs->users };
        jobs->users = user;
    }
    return user;
}

static void forget_if_idle(struct jobs *jobs, struct job_user *user) REQUIRES(jobs->lock)
{
    struct job_user **at = &jobs->users;

    if (user->n_jobs > 0)
        return;
    while (*at != user)
        at = &(*at)->next;
    *at = user->next;
    free(user);
}

/* -- the list -- */

/* Counts a job by its state, or counts it out. */
static void count(struct jobs *jobs, const struct job *job, bool in) REQUIRES(jobs->lock)
{
    uint32_t n = in ? 1 : UINT32_MAX; /* which is -1 */

    if (job_has_ended(job))
        jobs->n_over += n;
    else
        job->user->n_open += n;
    if (job->view.state == JOB_RUNS)
        job->user->n_runs += n;
}

void job_set_state(struct jobs *jobs, struct job *job, enum job_state state, int error)
{
    bool was_over = job_has_ended(job);

    count(jobs, job, false);
    job->view.state = state;
    job->view.error = error;
    count(jobs, job, true);
    if (job_has_ended(job) && !was_over) {
        jobs->n_ended[state]++;
        job->ended = ++jobs->n_events;
    }
}

uint32_t job_find_after(const struct jobs *jobs, uint64_t number)
{
    uint32_t lo = 0, hi = jobs->n;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;

        if (jobs->job[mid]->view.number > number)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

struct job *job_find(const struct jobs *jobs, uint64_t number)
{
    uint32_t i = number > 0 ? job_find_after(jobs, number - 1) : jobs->n;

    return i < jobs->n && jobs->job[i]->view.number == number ? jobs->job[i] : NULL;
}

/* Adds a job at the end of the list. */
static int enlist(struct jobs *jobs, struct job *job) REQUIRES(jobs->lock)
{
    if (jobs->n == jobs->room) {
        uint32_t room = MAX(2 * jobs->room, 16);
        struct job **more = realloc(jobs->job, room * sizeof(struct job *));

        if (more == NULL)
            return -ENOMEM;
        jobs->job = more;
        jobs->room = room;
    }
    job->view.number = ++jobs->n_jobs;
    job->user->n_jobs++;
    count(jobs, job, true);
    job->before = job->inode->job != NULL ? job->inode->job->view.number : 0;
    jobs->job[jobs->n++] = job;
    job->inode->job = job;
    return 0;
}

/* Gives memory of the list back that a crowd has left. */
static void give_back(struct jobs *jobs) REQUIRES(jobs->lock)
{
    uint32_t room = jobs->room / 2;
    struct job **less;

    if (room < 64 || jobs->n > room / 2)
        return;
    less = realloc(jobs->job, room * sizeof(struct job *));
    if (less == NULL)
        return;
    jobs->job = less;
    jobs->room = room;
}

void job_take_out(struct jobs *jobs, struct job *job) NO_LOCK_ANALYSIS
{
    uint32_t i = job_find_after(jobs, job->view.number - 1);

    memmove(&jobs->job[i], &jobs->job[i + 1], (--jobs->n - i) * sizeof(struct job *));
    give_back(jobs);
    if (job->inode->job == job)
        job->inode->job = job_find(jobs, job->before); /* what did not begin is forgotten, not what was before */
    count(jobs, job, false);
    job->user->n_jobs--;
    forget_if_idle(jobs, job->user);
}

/* Takes the job out that was over first, of those that nobody works on, when many are over; NULL: there are not. */
static struct job *take_oldest(struct jobs *jobs) REQUIRES(jobs->lock)
{
    struct job *oldest = NULL;

    for (uint32_t i = 0; jobs->n_over > MAX_OVER && i < jobs->n; i++) {
        struct job *job = jobs->job[i];

        if (job_has_ended(job) && !job->is_busy && (oldest == NULL || job->ended < oldest->ended))
            oldest = job;
    }
    if (oldest != NULL)
        job_take_out(jobs, oldest);
    return oldest;
}

void job_forget_oldest(struct jobs *jobs)
{
    struct job *oldest;

    do {
        mutex_lock(&jobs->lock);
        oldest = take_oldest(jobs);
        mutex_unlock(&jobs->lock);
        if (oldest != NULL)
            job_free(jobs, oldest);
    } while (oldest != NULL);
}

int job_list(struct jobs *jobs, struct inode *inode, uint64_t limit, const struct job_asker *asker,
             struct job **ret_job)
{
    struct job *job = calloc(1, sizeof *job);
    struct job_user *user;
    int r = 0;

    if (job == NULL) {
        inode_unref(jobs->fs->inodes, inode);
        return -ENOMEM;
    }
    *job = (struct job){ .inode = inode, .is_busy = true, .view = { .limit = limit } };
    mutex_lock(&jobs->lock);
    user = find_user(jobs, asker->uid);
    if (user == NULL)
        r = -ENOMEM;
    else if (jobs->stop || (inode->job != NULL && !job_has_ended(inode->job)))
        r = -EBUSY;
    else if (user->n_open >= asker->most)
        r = -EUSERS;
    job->user = user;
    if (r == 0)
        r = enlist(jobs, job);
    if (r < 0 && user != NULL)
        forget_if_idle(jobs, user);
    mutex_unlock(&jobs->lock);
    if (r < 0)
        job_free(jobs, job);
    else
        *ret_job = job;
    return r;
}

void job_unlist(struct jobs *jobs, struct job *job)
{
    mutex_lock(&jobs->lock);
    job_take_out(jobs, job);
    cond_broadcast(&jobs->changed);
    mutex_unlock(&jobs->lock);
    job_free(jobs, job);
}

void job_let_go(struct jobs *jobs, struct job *job)
{
    mutex_lock(&jobs->lock);
    job->is_busy = false;
    cond_broadcast(&jobs->changed);
    mutex_unlock(&jobs->lock);
}

void job_note_fills(struct jobs *jobs, struct job *job, const struct file_layout *layout, uint16_t rotate)
{
    const struct volume *volume = jobs->fs->volume;
    uint32_t n = volume->n_disks;
    bool *fills = calloc(n, sizeof *fills);

    for (uint32_t slot = 0; fills != NULL && slot < file_layout_slots(layout); slot++) {
        uint32_t disk = file_layout_disk(layout, volume->home, rotate, slot);

        if (disk < n)
            fills[disk] = true;
    }
    mutex_lock(&jobs->lock);
    free(job->fills);
    job->fills = fills;
    job->n_fills = fills != NULL ? n : 0;
    mutex_unlock(&jobs->lock);
}

void job_look_at_record(struct job *job)
{
    mutex_lock(&job->file->meta);
    job->record = *file_record(job->file);
    mutex_unlock(&job->file->meta);
}

/* -- waiting -- */

bool jobs_wait_a_while(struct jobs *jobs, uint64_t ms)
{
    if (!jobs->stop)
        (void) cond_wait_until_ms(&jobs->changed, &jobs->lock, clock_in_ms(ms));
    return !jobs->stop;
}
