/* SPDX-License-Identifier: MIT */
#include "fs/core/change/job_list.h"

const char *job_state_name(enum job_state state)
{
    static const char *const name[] = {
        [JOB_WAITS] = "waiting", [JOB_RUNS] = "running",        [JOB_PAUSED] = "paused", [JOB_ENDS] = "ending",
        [JOB_DONE] = "done",     [JOB_CANCELLED] = "cancelled", [JOB_FAILED] = "failed",
    };

    return name[state];
}

int jobs_new(struct fs *fs, uint32_t max_fds, struct jobs **ret_jobs)
{
    struct jobs *jobs = calloc(1, sizeof *jobs);

    if (jobs == NULL)
        return -ENOMEM;
    jobs->fs = fs;
    jobs->max_fds = max_fds > 0 ? max_fds : UINT32_MAX;
    mutex_init(&jobs->lock);
    cond_init(&jobs->changed);
    *ret_jobs = jobs;
    return 0;
}

void jobs_free(struct jobs *jobs)
{
    if (jobs == NULL)
        return;
    for (uint32_t i = 0; i < jobs->n; i++)
        job_free(jobs, jobs->job[i]);
    free(jobs->job);
    while (jobs->users != NULL) {
        struct job_user *user = steal(jobs->users);

        jobs->users = user->next;
        free(user);
    }
    cond_done(&jobs->changed);
    mutex_done(&jobs->lock);
    free(jobs);
}

/* -- from outside -- */

int jobs_order(struct jobs *jobs, uint64_t number, enum job_order order)
{
    struct job *job;
    int r = -ENOENT;

    mutex_lock(&jobs->lock);
    job = job_find(jobs, number);
    if (job != NULL && !job_has_ended(job)) {
        if (order == JOB_CANCEL)
            job->shall_end = true;
        else
            job->shall_pause = order == JOB_PAUSE;
        cond_broadcast(&jobs->changed);
        r = 0;
    }
    mutex_unlock(&jobs->lock);
    return r;
}

void jobs_hurry(struct jobs *jobs, uint64_t number, uint64_t limit)
{
    struct job *job;

    mutex_lock(&jobs->lock);
    job = job_find(jobs, number);
    if (job != NULL && !job_has_ended(job)) {
        if (job->view.limit > 0 && (limit == 0 || limit > job->view.limit)) {
            job->view.limit = limit;
            job->rests_until = 0;
        }
        job->shall_pause = false;
        job->view.is_hurried = true;
        cond_broadcast(&jobs->changed);
    }
    mutex_unlock(&jobs->lock);
}

uint64_t jobs_take_freed(struct jobs *jobs)
{
    return atomic_exchange(&jobs->n_freed, 0);
}

uint64_t jobs_take_number(struct jobs *jobs)
{
    uint64_t number;

    mutex_lock(&jobs->lock);
    number = ++jobs->n_jobs;
    mutex_unlock(&jobs->lock);
    return number;
}

bool jobs_of(struct jobs *jobs, const struct inode *inode, struct job_view *ret_view)
{
    const struct job *job;

    mutex_lock(&jobs->lock);
    job = inode->job;
    if (job != NULL)
        *ret_view = job->view;
    mutex_unlock(&jobs->lock);
    return job != NULL;
}

bool jobs_next(struct jobs *jobs, uint64_t after, struct job_view *ret_view, struct inode **ret_inode)
{
    const struct job *job;
    uint32_t i;

    mutex_lock(&jobs->lock);
    i = job_find_after(jobs, after);
    job = i < jobs->n ? jobs->job[i] : NULL;
    if (job != NULL) {
        *ret_view = job->view;
        *ret_inode = job->inode;
        inode_ref(jobs->fs->inodes, job->inode);
    }
    mutex_unlock(&jobs->lock);
    return job != NULL;
}

void jobs_count(struct jobs *jobs, uint64_t ret_n[static JOB_STATES])
{
    mutex_lock(&jobs->lock);
    for (int state = 0; state < JOB_STATES; state++)
        ret_n[state] = jobs->n_ended[state];
    for (uint32_t i = 0; i < jobs->n; i++)
        if (!job_has_ended(jobs->job[i]))
            ret_n[jobs->job[i]->view.state]++;
    mutex_unlock(&jobs->lock);
}
