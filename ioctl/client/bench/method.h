/* SPDX-License-Identifier: MIT */
/* The ways in which a process gets its section of a file, or puts it there; and the member of a squad that knows some
 * of them. What a way needs beforehand, its descriptors, groups and views, is made once for each task and kept. */
#ifndef FALLSFS_IOCTL_CLIENT_BENCH_METHOD_H
#define FALLSFS_IOCTL_CLIENT_BENCH_METHOD_H

#include "ioctl/client/bench/squad.h"

struct method_request {
    const char *path;
    uint32_t rank, nranks;
    const struct squad_order *order;
    const struct fallsfs_range *section;
    void *buf;
    uint64_t bytes;
    char *why; /* SQUAD_TEXT */
};

struct method {
    const char *name;
    int (*open)(const struct method_request *request, void **ret_state);
    int (*move)(void *state, const struct method_request *request);
    void (*close)(void *state);
    void (*tell)(void *state, struct fallsfs_ioc_stats *ret_stats); /* what the last move was like; may be NULL */
};

extern const struct method method_bound;  /* out of, or into, a mapping of the file */
extern const struct method method_direct; /* a pread or pwrite for each piece */

/* Through libfallsfs: each on its own, sieved; or together, with domains of that kind. */
extern const struct method method_independent, method_static, method_dynamic, method_cyclic, method_disk;

/* What is the same in all members. */
struct method_set {
    const struct method *const *method; /* an order's method counts in these */
    uint32_t n_methods;
    const char *const *path; /* and its file in these */
    uint32_t n_paths;
    void *(*alloc)(size_t len); /* memory for sections */
    void (*release)(void *mem);
};

/* A member's life; what squad_fork wants, with a struct method_set. */
void method_member(void *set, struct squad *squad, uint32_t rank);

#endif
