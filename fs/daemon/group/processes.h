/* SPDX-License-Identifier: MIT */
/* Who the kernel means: a request comes from a thread, a rank belongs to a process. A process gets a number that is
 * never another's, and its end is noticed, also when a child keeps its files open. */
#ifndef FALLSFS_FS_DAEMON_GROUP_PROCESSES_H
#define FALLSFS_FS_DAEMON_GROUP_PROCESSES_H

#include "layout/base.h"

#include <sys/types.h>

struct processes;

struct processes_ops {
    void (*ended)(void *ctx, uint64_t process);
    void (*tick)(void *ctx); /* every PROCESSES_TICK ms, on the same thread */
};

#define PROCESSES_TICK 250

/* Makes a table of processes. max_fds: of how many the system tells when they end; those beyond are looked for from
 * time to time. */
int processes_new(const struct processes_ops *ops, void *ctx, uint32_t max_fds, struct processes **ret_processes);

/* Starts the thread that notices. */
int processes_start(struct processes *processes);
void processes_free(struct processes *processes);

/* What tells a process from all others there ever were since the machine started, and what it is called. */
#define PROCESS_NAME 64

struct process_identity {
    pid_t pid;
    uint64_t started; /* in the kernel's ticks, as /proc/PID/stat has it */
    char name[PROCESS_NAME];
};

/* Looks up the process that a thread belongs to; takes some microseconds. An error: the thread has ended. */
int process_identify(pid_t tid, struct process_identity *ret_identity);

/* The number of the process that the thread belongs to; 0 when that cannot be told, as in a foreign pid namespace. */
uint64_t processes_of(struct processes *processes, pid_t tid);

/* How many processes have ended so far. As long as that is the same, a thread that was known to be of a process is of
 * it still. */
uint64_t processes_ended(const struct processes *processes);

#endif
