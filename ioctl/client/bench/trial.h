/* SPDX-License-Identifier: MIT */
/* Contenders with one task: each shows once that it gets every byte right, then they are timed in turns, so that what
 * disturbs the machine disturbs all alike. Who comes next pays for what the one before it has left to be written, so
 * the order changes from round to round:
 *
 *     round 0     0 1 3 2        in n rounds each comes first once, and once behind each other one;
 *     round 1     1 2 0 3        with an odd number in 2n rounds, of which the second n go backwards
 *     round 2     2 3 1 0
 *     round 3     3 0 2 1 */
#ifndef FALLSFS_IOCTL_CLIENT_BENCH_TRIAL_H
#define FALLSFS_IOCTL_CLIENT_BENCH_TRIAL_H

#include "ioctl/client/bench/squad.h"

#define TRIAL_MAX_ROUNDS 32

struct contender {
    struct squad *squad;
    uint32_t method, file; /* as its members count */
    const char *path;      /* of that file */
    pid_t daemon;          /* who serves it; 0: nobody */

    uint8_t token[16];
    uint32_t n_samples;
    double seconds[TRIAL_MAX_ROUNDS], cpu[TRIAL_MAX_ROUNDS]; /* cpu: the daemon's */
    struct fallsfs_ioc_stats stats;                          /* of the last call */
    double spent;
    int error; /* it does not work, or wrongly */
    char why[SQUAD_TEXT];
};

struct trial {
    struct fallsfs_array array;
    struct deal deal;
    bool write;
    uint32_t task;             /* a number of its own; SQUAD_NOTHING is none */
    uint32_t n_rounds;         /* to TRIAL_MAX_ROUNDS */
    double budget;             /* seconds of a contender, after which one sample is enough */
    void (*before)(void *ctx); /* each call; may be NULL */
    void *ctx;
    struct contender *contender;
    uint32_t n_contenders;
};

/* All files have generation 0 everywhere, and have it again afterwards. -ECHILD: a process of a squad has died, others
 * are -errno; what one contender cannot do is only its own error. */
int trial_run(struct trial *trial);

/* Whose turn it is, of n, as the i-th of a round. */
uint32_t trial_turn(uint32_t n, uint32_t round, uint32_t i);

/* One call of one contender, for those who look at more than time. */
void trial_order(const struct trial *trial, uint32_t contender, bool check, struct squad_order *ret_order);

struct spread {
    double low, mid, high; /* quartiles */
};

struct spread spread_of(const double value[], uint32_t n);

#endif
