/* SPDX-License-Identifier: MIT */
/* The same operation on the mount and on a plain directory must do the same.
 *
 *     seed ──> op ──┬──> side "mount" ──> outcome ┐
 *                   └──> side "plain" ──> outcome ┴──> equal?
 *
 * An op is all numbers, so both sides do exactly the same and a failure prints as a line. */
#ifndef FALLSFS_TEST_MOUNT_OPS_EQUAL_H
#define FALLSFS_TEST_MOUNT_OPS_EQUAL_H

#include "test/support/rng.h"

#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#define N_FDS  6
#define MAX_IO 300000

struct side {
    const char *name;
    int root;      /* the directory of the case */
    int fd[N_FDS]; /* -1: not open */
};

struct op {
    unsigned kind;
    unsigned from, to; /* paths */
    unsigned fd, fd2;
    int flags;
    mode_t mode, umask;
    uid_t uid; /* who does it */
    uint64_t off, off2;
    size_t len;
    uint64_t seed; /* of what is written, of names and values */
    struct timespec times[2];
};

/* What an operation gave. */
struct outcome {
    int64_t r; /* or -errno */
    size_t len;
    uint8_t *data; /* MAX_IO */
};

struct op op_make(struct rng *rng);

/* The n-th of the first operations: directories, then files that are open. */
struct op op_make_start(struct rng *rng, unsigned n);
void op_run(struct side *side, const struct op *op, struct outcome *outcome);
void op_print(const struct op *op, const struct outcome outcome[2]);
const char *op_name(const struct op *op);

/* Whether a difference in what the two gave is one that is allowed; the sides are then made equal again. */
bool op_may_differ(struct side side[2], const struct op *op, const struct outcome outcome[2]);

/* The times the operation may move are to be looked at. */
bool op_moves_times(const struct op *op);

/* A path of the small world that operations live in. */
const char *op_path(unsigned number);

/* Says what differs and returns false. */
bool same_stat(const char *what, const struct stat *mount, const struct stat *plain);
bool same_fds(struct side side[2], const struct op *op);
bool same_path(struct side side[2], const char *path, const struct op *op);

/* Everything below two directories. */
extern bool migrates; /* files get other layouts meanwhile */
bool same_tree(int mount, int plain, const char *path);

#endif
