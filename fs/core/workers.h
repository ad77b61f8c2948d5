/* SPDX-License-Identifier: MIT */
/* All threads that fallsfs starts for itself. A batch of jobs runs at the same time and is waited for; a later job runs
 * when there is time and frees itself. Without threads the caller does everything at once, in order: so tests can
 * replay what happened. */
#ifndef FALLSFS_FS_CORE_WORKERS_H
#define FALLSFS_FS_CORE_WORKERS_H

#include "layout/base.h"

struct batch;

struct job {
    void (*run)(struct job *job);
    struct job *next;
    struct batch *batch; /* NULL: a later job */
    bool settles;        /* of a later job: it, or what it runs, may call workers_settle, and is not waited for there */
};

struct workers;

/* No thread is started before workers_start, so that a process may fork in between; later jobs wait until then. */
int workers_new(uint32_t max_threads, struct workers **ret_workers);
void workers_start(struct workers *workers);

/* So many threads more; where there are none there will be none. */
void workers_allow(struct workers *workers, uint32_t n_more);

/* Waits for all later jobs first. */
void workers_free(struct workers *workers);

/* Runs all, the last of them in the calling thread, and returns when the last has ended. Jobs may run batches. */
void workers_run(struct workers *workers, struct job *const job[], uint32_t n);

void workers_later(struct workers *workers, struct job *job);

/* Waits until no later job is left. No later job may call this. */
void workers_drain(struct workers *workers);

/* Waits until no later job is left but those that may wait themselves: what was removed is gone then. */
void workers_settle(struct workers *workers);

#endif
