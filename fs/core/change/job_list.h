/* SPDX-License-Identifier: MIT */
/* The list of jobs, those that are over among them as long as they are told of. A file has one job that is not over at
 * most; its inode names the last one.
 *
 *     list     1 done   2 running   4 failed   5 waiting        by number; 3 was forgotten
 *     inode ───────────────────────────────────> 5              which was 4 before; 4 again, if 5 does not begin
 *
 * Who works on a job has made it busy under the lock, and lets it go; only then does another thread touch what no lock
 * guards. A few jobs have their files in use, those that were worked on last: files take descriptors and memory. */
#ifndef FALLSFS_FS_CORE_CHANGE_JOB_LIST_H
#define FALLSFS_FS_CORE_CHANGE_JOB_LIST_H

#include "fs/core/change/jobs.h"
#include "fs/core/change/migrate.h"
#include "fs/core/disk/mutex.h"

#include <stdatomic.h>

/* A user for whom there are jobs in the list. */
struct job_user {
    struct job_user *next;
    uid_t uid;
    uint32_t n_jobs, n_open, n_runs; /* lock; all that are listed; not over; in state JOB_RUNS */
    uint64_t turn;                   /* lock; the how manieth event it was that one of his was worked on */
};

struct job {
    struct job_view view;  /* lock */
    struct inode *inode;   /* with a reference */
    struct job_user *user; /* who asked for it, or who owns the file that was found to be on its way */
    uint64_t before;       /* the number of the job that its file had last; 0: none */
    struct record record;  /* of the file when it was last looked at: its id */
    struct file *file;     /* in use while the job is worked on, and until another one needs its place; or NULL */
    struct migration migration;
    uint32_t n_fds;             /* lock; descriptors that the job may have open now */
    bool is_known;              /* lock; somebody has looked what the record tells of the job */
    bool *fills;                /* lock; for each of the first n_fills disks: the job writes there */
    uint32_t n_fills;           /* lock */
    bool is_busy;               /* lock; somebody works on it */
    bool has_left;              /* lock; the job is over, and a read-only disk keeps what was to be removed */
    bool shall_pause;           /* lock */
    bool shall_end;             /* lock */
    int why;                    /* lock; why it shall end; 0: somebody wants it so */
    uint64_t not_before;        /* clock_ms; a disk has refused, and is tried again then */
    uint64_t rests_until;       /* lock; clock_ms; before that it would be faster than its limit */
    uint64_t ended;             /* lock; the how manieth event it was that the job was over */
    uint64_t began, began_with; /* when the job first ran in this mount, and the bytes that were done by then */
};

struct jobs {
    struct fs *fs;
    pthread_t thread;
    struct mutex lock;
    struct cond changed;           /* there is something to do, or less than before */
    struct job **job;              /* lock; by number */
    uint32_t n, room;              /* lock; how many job has, and has room for */
    uint32_t n_over;               /* lock; how many of them are over */
    uint64_t n_events;             /* lock; turns and ends so far, by which they are put in order */
    uint64_t last_turn;            /* lock; the one that was a turn last */
    struct job_user *users;        /* lock */
    uint32_t n_files;              /* lock; how many of them have descriptors */
    uint32_t n_fds, max_fds;       /* lock; descriptors that jobs may have open now, and at most */
    uint64_t n_jobs;               /* lock; the number of the last one that was listed */
    uint64_t n_ended[JOB_STATES];  /* lock; how many have come to each state that a job is over in */
    atomic_uint_least64_t n_freed; /* bytes of jobs that were forgotten */
    bool has_thread, stop;         /* lock */
};

static inline bool job_has_ended(const struct job *job)
{
    return job_is_over(&job->view);
}

#define JOB_RUNS_EACH 8 /* jobs of a user with a limit that have begun and are not over */

/* Whether a job may begin beside those of its user that have: while they rest or wait for a disk, others work. There is
 * always a place for a job without a limit. The lock is held. */
static inline bool job_has_place(const struct job *job)
{
    return job->user->n_runs < (job->view.limit > 0 ? JOB_RUNS_EACH : 2 * JOB_RUNS_EACH);
}

/* Lists a job for a file that nobody else works on: it is busy. Takes the reference on the inode, also on failure.
 * -EBUSY: the file has a job that is not over, or the mount ends; -EUSERS: who asks has as many as he may have. */
int job_list(struct jobs *jobs, struct inode *inode, uint64_t limit, const struct job_asker *asker,
             struct job **ret_job);

/* Forgets a job that has not begun, and frees it. */
void job_unlist(struct jobs *jobs, struct job *job);

/* Forgets those that were over first when there are many of them. */
void job_forget_oldest(struct jobs *jobs);

/* Lets go of a job that was busy: another thread may work on it. */
void job_let_go(struct jobs *jobs, struct job *job);

/* Finds a job by its number; NULL: there is none. */
struct job *job_find(const struct jobs *jobs, uint64_t number) REQUIRES(jobs->lock);

/* Finds the place in the list of the first job with a higher number; jobs->n: there is none. */
uint32_t job_find_after(const struct jobs *jobs, uint64_t number) REQUIRES(jobs->lock);

/* Changes the state of a job, and what is counted by it. */
void job_set_state(struct jobs *jobs, struct job *job, enum job_state state, int error) REQUIRES(jobs->lock);

/* Takes a job out of the list. The lock is held, or nobody else is there. */
void job_take_out(struct jobs *jobs, struct job *job);

void job_free(struct jobs *jobs, struct job *job);

/* -- what a job knows of its file -- */

/* Looks at the record of the file that a job has in use. */
void job_look_at_record(struct job *job);

/* Notes which disks a job writes to. Without memory it writes to none, as far as anybody knows. */
void job_note_fills(struct jobs *jobs, struct job *job, const struct file_layout *layout, uint16_t rotate);

/* -- waiting -- */

/* Waits until something changes, for so long at most. false: the jobs shall stop. */
bool jobs_wait_a_while(struct jobs *jobs, uint64_t ms) REQUIRES(jobs->lock);

#endif
