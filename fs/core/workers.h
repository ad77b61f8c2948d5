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
};

struct workers;

/* No thread is started before workers_start, so that a process may fork in between; later jobs wait until then. */
int workers_new(uint32_t max_threads, struct workers **ret_workers);
void workers_start(struct workers *workers);

/* Waits for all later jobs first. */
void workers_free(struct workers *workers);

/* Runs all, the last of them in the calling thread, and returns when the last has ended. */
void workers_run(struct workers *workers, struct job *const job[], uint32_t n);

void workers_later(struct workers *workers, struct job *job);

/* Waits until no later job is left. */
void workers_drain(struct workers *workers);

#endif
