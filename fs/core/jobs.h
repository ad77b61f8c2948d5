/* SPDX-License-Identifier: MIT */
/* What goes on in the background for long: files on their way to another layout. One is worked on at a time, a window
 * after the other, and others while it rests for its limit; users come first. A job outlives the mount: the next one
 * finds it in the journal. */
#ifndef FALLSFS_FS_CORE_JOBS_H
#define FALLSFS_FS_CORE_JOBS_H

#include "fs/core/fs.h"

enum job_state {
    JOB_WAITS, /* for its turn */
    JOB_RUNS,
    JOB_PAUSED,
    JOB_ENDS, /* it is decided how; a disk does not let go of what is to be removed */
    JOB_DONE,
    JOB_CANCELLED,
    JOB_FAILED,
};

enum job_order { JOB_PAUSE, JOB_RESUME, JOB_CANCEL };

/* What is told of a job. */
struct job_view {
    uint64_t number;
    enum job_state state;
    int error;            /* why it failed, or does not go on for now; else 0 */
    uint64_t done, total; /* bytes of the file */
    uint64_t rate;        /* bytes a second, lately */
    uint64_t limit;       /* that it may take; 0: what users leave */
    uint64_t ms;          /* since it began, in this mount */
};

static inline bool job_is_over(const struct job_view *view)
{
    return view->state >= JOB_DONE;
}

struct jobs;
struct file_layout;

int jobs_new(struct fs *fs, struct jobs **ret_jobs);
void jobs_free(struct jobs *jobs);

/* Takes up what the journal lists. */
int jobs_find(struct jobs *jobs);

/* A file came into use whose record tells of a migration: makes sure that somebody works on it. */
void jobs_note(struct jobs *jobs, struct inode *inode);

/* Begins to work, in a thread. Without it jobs_step does. */
int jobs_start(struct jobs *jobs);

/* The end of the mount: all records tell how far it got, no job uses its file any more. */
void jobs_stop(struct jobs *jobs);

/* One step of the first job that has something to do; false when none has. */
bool jobs_step(struct jobs *jobs);

/* The file shall have this layout; rotates as layouts_add has it; limit: bytes a second, 0: what users leave. 1 when it
 * has the layout already, 0 also when it is on its way there: the limit is the new one; -EBUSY it is on its way to
 * another; -ENOSPC some disk has no room for it. */
int jobs_add(struct jobs *jobs, struct inode *inode, const struct file_layout *layout, bool rotates, uint64_t limit,
             uint64_t *ret_number);

/* -ENOENT: no such job, or it is over. */
int jobs_order(struct jobs *jobs, uint64_t number, enum job_order order);

/* The job of a file, the last one; false: it has none. */
bool jobs_of(struct jobs *jobs, const struct inode *inode, struct job_view *ret_view);

/* The first job with a higher number, and its inode with a reference. Those that are over are remembered for a while.
 */
bool jobs_next(struct jobs *jobs, uint64_t after, struct job_view *ret_view, struct inode **ret_inode);

/* A disk is full: what jobs have copied there so far goes, and they fail. Waits for that. */
void jobs_make_room(struct jobs *jobs);

#endif
