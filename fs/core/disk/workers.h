/* SPDX-License-Identifier: MIT */
/* All threads that fallsfs starts for itself. A batch of chores runs at the same time and is waited for; a later chore
 * runs when there is time and frees itself. Without threads the caller does everything at once, in order: so tests can
 * replay what happened. */
#ifndef FALLSFS_FS_CORE_DISK_WORKERS_H
#define FALLSFS_FS_CORE_DISK_WORKERS_H

#include "fs/core/disk/trouble.h"

struct batch;

struct chore {
    void (*run)(struct chore *chore);
    struct chore *next;
    struct batch *batch;  /* NULL: a later chore */
    struct errand errand; /* of a chore of a batch: what the thread that waits for it works on */
    bool waits; /* of a later chore: it, or what it runs, may call workers_wait_later, and is not waited for there */
};

struct workers;

/* Makes workers without threads; workers_start starts them, so that a process may fork in between. Later chores wait
 * until then. */
int workers_new(uint32_t max_threads, struct workers **ret_workers);
void workers_start(struct workers *workers);

/* Allows n_more threads more. Workers that may have none still have none. */
void workers_allow(struct workers *workers, uint32_t n_more);

/* Waits for all later chores, ends the threads, and frees the workers. */
void workers_free(struct workers *workers);

/* Runs a batch of chores, the last of them in the calling thread, and returns when all have ended. Chores may run
 * batches themselves. */
void workers_run(struct workers *workers, struct chore *const chore[], uint32_t n);

/* Runs a chore when there is time for it, without being waited for. The chore frees itself. */
void workers_later(struct workers *workers, struct chore *chore);

/* Waits until no later chore is left. No later chore may call this. */
void workers_drain(struct workers *workers);

/* Waits until no later chore is left but those with waits set: what was removed before the call is gone then. */
void workers_wait_later(struct workers *workers);

#endif
