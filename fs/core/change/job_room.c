/* SPDX-License-Identifier: MIT */
/* Room on a full disk: jobs that fill it give up what they have copied there. */
#include "fs/core/change/job_step.h"
#include "fs/core/change/room_watch.h"

/* Whether a job writes to one of these disks. The lock is held. */
static bool fills_one_of(const struct job *job, const bool full[])
{
    for (uint32_t i = 0; i < job->n_fills; i++)
        if (full[i] && job->fills[i])
            return true;
    return false;
}

/* Has all jobs end that write to one of these disks. false: none is left that has not ended. */
static bool end_all(struct jobs *jobs, const bool full[]) REQUIRES(jobs->lock)
{
    bool any = false;

    for (uint32_t i = 0; i < jobs->n; i++) {
        struct job *job = jobs->job[i];

        if (!job_has_ended(job) && job->view.state != JOB_ENDS && fills_one_of(job, full)) {
            job->why = job->shall_end ? job->why : -ENOSPC;
            job->shall_end = any = true;
        }
    }
    return any;
}

static void wait_for_end(struct jobs *jobs, const bool full[])
{
    uint64_t until = clock_ms() + WATCH_STALL;
    bool go_on;

    mutex_lock(&jobs->lock);
    go_on = end_all(jobs, full);
    cond_broadcast(&jobs->changed);
    while (go_on && end_all(jobs, full) && clock_ms() < until)
        go_on = jobs_wait_a_while(jobs, JOB_LATER);
    mutex_unlock(&jobs->lock);
}

void jobs_make_room(struct jobs *jobs)
{
    cleanup(freep) bool *full = NULL;
    bool any;

    mutex_lock(&jobs->lock);
    any = jobs->n > jobs->n_over;
    mutex_unlock(&jobs->lock);
    if (any)
        full = room_full_disks(jobs->fs, ROOM_LOW);
    if (full != NULL && jobs->has_thread)
        wait_for_end(jobs, full);
}
