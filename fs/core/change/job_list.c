/* SPDX-License-Identifier: MIT */
#include "fs/core/change/job_list.h"

#include "fs/core/file/file.h"

#include <string.h>
#include <time.h>

#define MAX_OVER 64 /* jobs that are over and still told of */

void job_unload(struct jobs *jobs, struct job *job)
{
    migration_done(&job->migration);
    if (job->file != NULL)
        file_put(jobs->fs, job->file);
    job->file = NULL;
}

void job_free(struct jobs *jobs, struct job *job)
{
    job_unload(jobs, job);
    free(job->fills);
    inode_unref(jobs->fs->inodes, job->inode);
    free(job);
}

void job_set_state(struct jobs *jobs, struct job *job, enum job_state state, int error)
{
    bool was_over = job_has_ended(job);

    jobs->n_over -= was_over;
    jobs->n_runs -= job->view.state == JOB_RUNS;
    job->view.state = state;
    job->view.error = error;
    jobs->n_over += job_has_ended(job);
    jobs->n_ended[state] += job_has_ended(job) && !was_over;
    jobs->n_runs += state == JOB_RUNS;
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
    job->before = job->inode->job != NULL ? job->inode->job->view.number : 0;
    jobs->job[jobs->n++] = job;
    job->inode->job = job;
    return 0;
}

void job_take_out(struct jobs *jobs, struct job *job) NO_LOCK_ANALYSIS
{
    uint32_t i = job_find_after(jobs, job->view.number - 1);

    job_set_state(jobs, job, JOB_WAITS, 0);
    memmove(&jobs->job[i], &jobs->job[i + 1], (--jobs->n - i) * sizeof(struct job *));
    if (job->inode->job == job)
        job->inode->job = job_find(jobs, job->before); /* what did not begin is forgotten, not what was before */
}

void job_forget_oldest(struct jobs *jobs)
{
    struct job *oldest = NULL;

    mutex_lock(&jobs->lock);
    for (uint32_t i = 0; jobs->n_over > MAX_OVER && oldest == NULL; i++)
        if (job_has_ended(jobs->job[i]))
            oldest = jobs->job[i];
    if (oldest != NULL)
        job_take_out(jobs, oldest);
    mutex_unlock(&jobs->lock);
    if (oldest != NULL)
        job_free(jobs, oldest);
}

int job_list(struct jobs *jobs, struct inode *inode, uint64_t limit, struct job **ret_job)
{
    struct job *job = calloc(1, sizeof *job);
    int r = 0;

    if (job == NULL) {
        inode_unref(jobs->fs->inodes, inode);
        return -ENOMEM;
    }
    *job = (struct job){ .inode = inode, .is_busy = true, .view = { .limit = limit } };
    mutex_lock(&jobs->lock);
    if (jobs->stop || (inode->job != NULL && !job_has_ended(inode->job)))
        r = -EBUSY;
    if (r == 0)
        r = enlist(jobs, job);
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
    bool *fills = calloc(STAMP_MAX_DISKS, sizeof *fills);

    for (uint32_t slot = 0; fills != NULL && slot < file_layout_slots(layout); slot++)
        fills[file_layout_disk(layout, volume->home, rotate, slot)] = true;
    mutex_lock(&jobs->lock);
    job->fills = fills;
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
