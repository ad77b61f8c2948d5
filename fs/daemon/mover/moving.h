/* SPDX-License-Identifier: MIT */
/* An order that goes on, or is over: its jobs that are not over, what became of those that are, and how it ends.
 *
 *     files ──> moving_add ──> open: at most MOVE_JOBS ──> moving_wait takes out those that are over ──> sums, failures
 *
 * A thread of its own works for an order; who asks, stops or looks does so under the mover's lock. While root moves
 * files for the sake of disks, the orders of others wait with their next file. */
#ifndef FALLSFS_FS_DAEMON_MOVER_MOVING_H
#define FALLSFS_FS_DAEMON_MOVER_MOVING_H

#include "fs/core/disk/mutex.h"
#include "fs/core/fs.h"
#include "fs/daemon/mover/move_order.h"

#define MOVE_JOBS     32 /* jobs that an order has begun and that are not over */
#define MOVE_FAILURES 32 /* files that are told of by name; the others are counted */
#define MOVE_WHY      256

struct move_failure {
    char *path; /* NULL: who asked may not know it */
    char why[MOVE_WHY];
};

struct move_load {
    uint64_t before, after; /* bytes of files on a disk */
};

struct moving {
    struct mover *mover;
    struct moving *next; /* mover->lock; an older one */
    bool goes_on;        /* mover->lock; it has a thread */
    struct inode *dir;   /* with a reference; of MOVE_BELOW, else the root */
    char *word;
    struct move_order order; /* word, ctx: the order's own */
    uint64_t began;
    struct inode *open[MOVE_JOBS]; /* mover->lock; with references; whose jobs are not over */

    /* mover->lock from here on */
    uint32_t n_open;
    struct move_view view; /* of those that are over */
    uint64_t moved, bytes; /* files that were given jobs, or would be; bytes of them that are copied */
    uint64_t limit;
    bool is_paused, is_cancelled;
    char result[LAST_ERROR_SIZE]; /* what else there is to say */
    struct move_failure failure[MOVE_FAILURES];
    uint32_t n_failures;
    struct move_load *load; /* for each disk */
    uint32_t n_loads;
};

struct mover {
    struct fs *fs;
    struct mutex lock;
    struct cond changed;
    struct moving *first; /* lock; the newest of those that are told of */
    bool stop;            /* lock */
};

static inline struct fs *moving_fs(const struct moving *moving)
{
    return moving->mover->fs;
}

/* Whether an order is about disks and moves files. */
static inline bool moving_is_about_disks(const struct moving *moving)
{
    return moving->order.kind != MOVE_BELOW && !moving->order.is_plan;
}

/* Whether root, or who mounted, has given the order. */
bool moving_is_of_root(const struct moving *moving);

/* Finds how far an order is. The lock is held. */
void moving_look(const struct moving *moving, struct move_view *ret_view);

/* Pauses, resumes or cancels the order and the jobs that it has begun. The lock is held. */
void moving_order(struct moving *moving, enum job_order order);

/* Waits until at most so many of its jobs are not over, also when it was cancelled: an order is told to be over when
 * its files can be asked for again. false: the order shall end. */
bool moving_wait(struct moving *moving, uint32_t most);

/* Waits for so long. false: the order shall end. */
bool moving_rest(struct moving *moving, uint32_t ms);

/* Adds a job that is waited for from now on, that of the inode, whose reference it takes. */
void moving_add(struct moving *moving, struct inode *inode);

/* Counts a file that has been given a job, or would be, of which so many bytes are copied. */
void moving_note_moved(struct moving *moving, uint64_t bytes);

/* Notes that a file could not be moved. path NULL: who asked may not know its name. */
void moving_fail(struct moving *moving, const char *path, int error, const char *why);
void moving_forget_failures(struct moving *moving);
uint64_t moving_failed(struct moving *moving);

/* Counts a file that the order has looked at. */
void moving_count_file(struct moving *moving);

/* How fast each file that is begun now may be copied. */
uint64_t moving_limit(struct moving *moving);

/* Notes what there is to say of the order beside its files. */
PRINTF_LIKE(2, 3) void moving_say(struct moving *moving, const char *fmt, ...);

/* Frees an order whose thread is over, or was never begun. */
void moving_free(struct moving *moving);

#endif
