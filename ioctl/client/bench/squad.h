/* SPDX-License-Identifier: MIT */
/* Processes that do as they are told, all at the same moment:
 *
 *     leader       start ─┐                                                             ┌─> wait: seconds
 *     member 0            ├─ prepare ──────┐         ┌─ act, from start to end ──┐      │
 *     member 1            └─ prepare ── all ready ───┴─ act ──────── its end ────┴─ check
 *                                                     \___ first start to last end ___/
 *
 * They meet in shared memory and sleep while they wait. Members are forked, or come by the path of that memory, as
 * those of mpiexec do. */
#ifndef FALLSFS_IOCTL_CLIENT_BENCH_SQUAD_H
#define FALLSFS_IOCTL_CLIENT_BENCH_SQUAD_H

#include "ioctl/client/bench/deal.h"

#include <sys/types.h>

#define SQUAD_MAX  256
#define SQUAD_TEXT 200

struct squad_order {
    uint32_t task; /* another number: what was kept for the last task is dropped */
    uint32_t method, file;
    uint32_t generation; /* of what is written */
    bool write, check;
    uint8_t token[16];
    struct fallsfs_array array;
    struct deal deal;
};

#define SQUAD_NOTHING UINT32_MAX /* as a method: drop what is kept, and that is all */

/* The first error of the lowest rank that had one. */
struct squad_result {
    double seconds;
    int error;
    char why[SQUAD_TEXT];
    struct fallsfs_ioc_stats stats; /* of rank 0; zeros: there are none */
};

struct squad;

/* What a member does; each 0, or -errno with why. Without a preparation by all nobody acts. tell is asked for what the
 * act was like, after its end. */
struct squad_duty {
    int (*prepare)(void *ctx, const struct squad_order *order, char why[static SQUAD_TEXT]);
    int (*act)(void *ctx, const struct squad_order *order, char why[static SQUAD_TEXT]);
    int (*check)(void *ctx, const struct squad_order *order, char why[static SQUAD_TEXT]);
    void (*tell)(void *ctx, const struct squad_order *order, struct fallsfs_ioc_stats *ret_stats);
    void *ctx;
};

/* path: a new file, or NULL when all will be forked. */
int squad_new(const char *path, uint32_t nranks, struct squad **ret_squad);
int squad_attach(const char *path, struct squad **ret_squad);

/* Sends the members home, and waits for them. NULL is fine; what has attached only detaches. */
void squad_free(struct squad *squad);
void squad_freep(struct squad **squad);

uint32_t squad_nranks(const struct squad *squad);
pid_t squad_pid(const struct squad *squad, uint32_t rank); /* once it has obeyed */

/* Forks one process for each rank; each runs member() and ends. */
int squad_fork(struct squad *squad, void (*member)(void *ctx, struct squad *squad, uint32_t rank), void *ctx);

/* Of a process that was started for the squad: when it ends, so has the squad. */
void squad_adopt(struct squad *squad, pid_t pid);

/* The life of a member: returns when it is sent home. */
void squad_obey(struct squad *squad, uint32_t rank, const struct squad_duty *duty);

/* squad_wait: -EAGAIN not yet, -ECHILD a member has died: the squad is of no use any more. */
void squad_start(struct squad *squad, const struct squad_order *order);
int squad_wait(struct squad *squad, unsigned ms, struct squad_result *ret_result);

#endif
