/* SPDX-License-Identifier: MIT */
/* What bench_mount and bench_layout_change time: jobs, each a process of its own, working on a mounted directory.
 *
 *     measure()    fork jobs -> all ready -> act | act | act -> wait -> the daemon comes to rest
 *                                            \__ seconds ___/
 *                                            client: the jobs' CPU           daemon: its CPU until it rests
 *
 * Whatever cannot be done ends the program: a number that is not true is worse than none. */
#ifndef FALLSFS_TEST_BENCH_MOUNT_OPS_H
#define FALLSFS_TEST_BENCH_MOUNT_OPS_H

#include "layout/base.h"

#include <sys/types.h>

#define MAX_JOBS 64

/* A directory to work in, and who serves it. */
struct target {
    const char *name;
    const char *dir;
    pid_t pid;           /* of the daemon; 0: there is none */
    const char *backing; /* directories where its bytes are, separated by colons; empty: dir is no mount */
    bool o_direct;       /* the client opens with O_DIRECT */
    unsigned scale;      /* so many times the bytes */
};

/* "name,directory,pid,disk:disk[,o_direct][,scale=N]", which is cut up. */
struct target target_parse(char *text);

/* What jobs do. They have a file each, or one for all. */
enum how {
    WRITES = 1,
    RANDOM = 2,   /* blocks, some maybe twice */
    TIMED = 4,    /* random blocks, none twice, which the jobs share, until the time is over */
    ONE_FILE = 8, /* each job works on its part of it, or anywhere if at random */
    FSYNCS = 16
};

struct work {
    const char *file; /* its name, or the start of them, or the directory's of names */
    size_t block;
    uint64_t bytes; /* of each job; of the file, if at random */
    unsigned how;
    unsigned n; /* times over; blocks of each job, if at random; milliseconds, if timed; files, if names are the work */
};

struct job;
typedef void job_act(struct job *job);

struct job {
    const struct target *target;
    const struct work *work;
    struct common *common; /* to all jobs */
    unsigned index, n_jobs, round;
    uint64_t n_done; /* bytes, or names */
};

struct sample {
    double seconds, client, daemon; /* the last two: of CPU */
    uint64_t n_done;
};

void fail(const char *fmt, ...) PRINTF_LIKE(1, 2) __attribute__((noreturn));
double now(void);
double cpu_of(pid_t pid);

struct sample measure(const struct target *target, const struct work *work, unsigned n_jobs, unsigned round,
                      job_act *act);

job_act act_move;                                              /* bytes */
job_act act_create, act_small, act_stat, act_list, act_unlink; /* names, in the directory of the round */

/* Before a measurement, untimed. */
void files_make(const struct target *target, const struct work *work, unsigned n_jobs); /* whole, and on disk */
void files_remove(const struct target *target, const struct work *work, unsigned n_jobs);
void files_warm(const struct target *target, const struct work *work, unsigned n_jobs); /* every cache has them */
void files_drop(const struct target *target, const struct work *work, unsigned n_jobs); /* the mount's has not */
void disks_drop(const struct target *target);                                           /* nor that of the disks */
void names_make(const struct target *target, const struct work *work, unsigned round);
void names_list(const struct target *target, const struct work *work, unsigned round);
void names_fresh(const struct target *target, const struct work *work, unsigned round);
void drop_caches(int what); /* as /proc/sys/vm/drop_caches counts */
void settle(pid_t pid);     /* until the daemon does nothing any more */

#endif
