/* SPDX-License-Identifier: MIT */
/* Jobs are what goes on in the background for long: files on their way to another layout. One is worked on at a time, a
 * window after the other, and others while it rests for its limit; users' reads and writes come first. Those who have
 * asked for jobs take turns, and root has every other turn. A job outlives the mount: the next mount finds it in the
 * journal.
 *
 *     jobs_add ──> waiting ──> running <──> paused
 *     journal ─────┘              └──> ending ──> done, cancelled, failed
 *
 * job_list.h has the list, job_begin.c how jobs begin, job_step.h what is done for one, job_schedule.c which is worked
 * on, job_room.c how they make room on a full disk. */
#ifndef FALLSFS_FS_CORE_CHANGE_JOBS_H
#define FALLSFS_FS_CORE_CHANGE_JOBS_H

#include "fs/core/stub/in_use.h"

enum job_state {
    JOB_WAITS, /* the job waits for its turn */
    JOB_RUNS,
    JOB_PAUSED,
    JOB_ENDS, /* it is decided how the job ends; a disk does not let go of what is to be removed */
    JOB_DONE,
    JOB_CANCELLED,
    JOB_FAILED,
    JOB_STATES
};

const char *job_state_name(enum job_state state);

enum job_order { JOB_PAUSE, JOB_RESUME, JOB_CANCEL };

/* What is told of a job. */
struct job_view {
    uint64_t number;
    enum job_state state;
    int error;            /* why the job failed, or does not go on for now; else 0 */
    uint64_t done, total; /* bytes of the file */
    uint64_t rate;        /* bytes a second, lately */
    uint64_t limit;       /* bytes a second that it may take; 0: what users leave */
    uint64_t ms;          /* since the job began, in this mount */
    bool is_hurried;      /* root waits for it, for the sake of disks: nobody else may make it slower */
};

static inline bool job_is_over(const struct job_view *view)
{
    return view->state >= JOB_DONE;
}

struct jobs;
struct file_layout;

/* max_fds: descriptors that all jobs may have open; 0: as many as there are. */
int jobs_new(struct fs *fs, uint32_t max_fds, struct jobs **ret_jobs);
void jobs_free(struct jobs *jobs);

/* Begins the job of a file that the journal lists by this name in todo/. */
int jobs_take_up(struct jobs *jobs, const char *name, const struct stat *st);

/* Makes sure that a job works on a file that has come into use and whose record tells of a migration. */
void jobs_note(struct jobs *jobs, struct inode *inode);

/* Begins a thread that works on jobs until jobs_stop. Where there is none, the caller works on them by jobs_step. */
int jobs_start(struct jobs *jobs);

/* Ends the work, for the end of the mount: from then on all records tell how far their files got, and no job uses its
 * file any more. */
void jobs_stop(struct jobs *jobs);

/* Does one step of the first job that has something to do. false: none has. */
bool jobs_step(struct jobs *jobs);

#define JOB_START_DRAWN UINT32_MAX

struct job_asker {
    uid_t uid;
    uint64_t most; /* jobs that he may have which are not over */
};

/* Begins a job that gives a file this layout, and has it start at that place of the layout's list. JOB_START_DRAWN: it
 * starts where it does now if the list is the same, else the start is drawn. limit: bytes a second, 0: what users
 * leave. 1: the file has the layout already. 0 also when it is on its way there, with the new limit from then on.
 * -EBUSY: it is on its way to another layout; -ENOSPC: some disk has no room for it; -EUSERS: who asks has as many jobs
 * as he may have; -EMFILE: its files take more descriptors than all jobs may have. */
int jobs_add(struct jobs *jobs, struct inode *inode, const struct file_layout *layout, uint32_t start, uint64_t limit,
             const struct job_asker *asker, uint64_t *ret_number);

/* Lets a job be as fast as this limit, 0: as users leave it, and go on if it is paused: root waits for it. */
void jobs_hurry(struct jobs *jobs, uint64_t number, uint64_t limit);

/* How many bytes jobs have taken that were forgotten since this was last asked. */
uint64_t jobs_take_freed(struct jobs *jobs);

/* Takes a number that no job has, for what is told of beside them. */
uint64_t jobs_take_number(struct jobs *jobs);

static inline uint32_t job_start(bool rotates)
{
    return rotates ? JOB_START_DRAWN : 0;
}

/* Pauses, resumes or cancels a job. -ENOENT: there is no such job, or it is over. */
int jobs_order(struct jobs *jobs, uint64_t number, enum job_order order);

/* Tells of the last job of a file. false: it had none, as far as anybody remembers. */
bool jobs_of(struct jobs *jobs, const struct inode *inode, struct job_view *ret_view);

/* Tells of the first job with a higher number, and finds its inode, with a reference. Jobs that are over are remembered
 * for a while. false: there is none. */
bool jobs_next(struct jobs *jobs, uint64_t after, struct job_view *ret_view, struct inode **ret_inode);

/* Counts jobs by state. Of those that are over it is all there were in this mount, also those that are forgotten. */
void jobs_count(struct jobs *jobs, uint64_t ret_n[static JOB_STATES]);

/* Removes what jobs had to leave on read-only disks, which may be written again. */
void jobs_retry(struct jobs *jobs);

/* Makes room on disks that are full: jobs that fill one of them fail, and what they have copied goes. Waits until it
 * has gone. */
void jobs_make_room(struct jobs *jobs);

#endif
