/* SPDX-License-Identifier: MIT */
/* Who the kernel means: a request comes from a thread, a rank belongs to a process. A process gets a number that is
 * never another's, and its end is noticed, also when a child keeps its files open. */
#ifndef FALLSFS_FS_DAEMON_PROCESSES_H
#define FALLSFS_FS_DAEMON_PROCESSES_H

#include "layout/base.h"

#include <sys/types.h>

struct processes;

struct processes_ops {
    void (*ended)(void *ctx, uint64_t process);
    void (*tick)(void *ctx); /* every PROCESSES_TICK ms, on the same thread */
};

#define PROCESSES_TICK 250

int processes_new(const struct processes_ops *ops, void *ctx, struct processes **ret_processes);

/* Starts the thread that notices. */
int processes_start(struct processes *processes);
void processes_free(struct processes *processes);

/* The number of the process that the thread belongs to; 0 when that cannot be told, as in a foreign pid namespace. */
uint64_t processes_of(struct processes *processes, pid_t tid);

/* How many have ended so far. As long as that is the same, a thread of a process that was known is its still. */
uint64_t processes_ended(const struct processes *processes);

#endif
