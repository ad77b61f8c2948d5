/* SPDX-License-Identifier: MIT */
/* Processes of one machine that work on one task, with memory that all of them see:
 *
 *     parent     team_share ── team_run ─┬───────────────────────────┬─> 0: all have ended well
 *     rank 0                             ├─ work ──── meet ─ work ───┤
 *     rank 1                             └─ work ─ meet ───── work ──┘
 *
 * Each is a copy of the parent at the moment of team_run. When one of them fails, the others are ended, for they would
 * wait for it. With MPI these would be mpiexec, MPI_Win_allocate_shared and MPI_Barrier. */
#ifndef FALLSFS_EXAMPLES_TEAM_H
#define FALLSFS_EXAMPLES_TEAM_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#define TEAM_MAX 1024

struct team {
    uint32_t n;
    pthread_barrier_t *barrier;
};

/* Says what went wrong, as printf does, and ends this process; not to be caught. */
__attribute__((format(printf, 1, 2), noreturn)) void team_fail(const char *fmt, ...);

/* Zeros that the processes share; what nobody touches takes no memory. Of the parent, before team_run. */
void *team_share(size_t len);

struct team team_new(uint32_t n);

/* Runs member in n processes; 0 when all have returned. */
int team_run(const struct team *team, void (*member)(void *task, uint32_t rank), void *task);

/* Waits until all processes are here. */
void team_meet(const struct team *team);

/* Nanoseconds, the same clock in all processes. */
uint64_t team_now(void);

#endif
