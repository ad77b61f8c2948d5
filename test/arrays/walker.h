/* SPDX-License-Identifier: MIT */
/* Random walks by slabs beside a model. Every element of every slab is looked at, and scribbled over. */
#ifndef FALLSFS_TEST_ARRAYS_WALKER_H
#define FALLSFS_TEST_ARRAYS_WALKER_H

#include "test/arrays/files.h"

#include <fallsfs_slabs.h>

#define MAX_ARRAYS 3

/* An array on a walk: what the file had before, and what it is to have in the end. */
struct model {
    struct fallsfs_array array;
    uint8_t *before, *after; /* header, array and what follows it; after is seen by all processes */
    size_t len, file_len;    /* of these; what the file has of it */
    int fd;
};

/* A new file for an array of that shape. */
void model_make(struct model *model, struct rng *rng, const struct fallsfs_array *shape, const char *name);

/* The file has what it is to have; closes it. */
void model_check(struct model *model);

/* One process's part of a walk. */
struct walker {
    const struct fallsfs_slabs_walk *walk;
    struct fallsfs_slabs_array of[MAX_ARRAYS];
    struct model *model;
    uint32_t n;
    uint8_t *walked;      /* how often each element was, of all walkers */
    uint64_t seed;        /* of what it writes */
    uint64_t rounds, own; /* results */
    struct fallsfs_slabs_stats stats;
};

/* From the beginning to the end. */
void walker_run(struct walker *walker);

/* A random walk alone, part and access. */
struct fallsfs_slabs_walk some_walk(struct rng *rng, const struct fallsfs_array *shape);
void some_part(struct rng *rng, const struct fallsfs_array *shape, struct fallsfs_range part[]);
void some_access(struct rng *rng, struct fallsfs_slabs_array *of, const struct fallsfs_array *shape, bool in_place);

/* How many bytes of array i the walk sees: each is to be read once. */
uint64_t bytes_seen(const struct walker *walker, uint32_t i, const struct fallsfs_range part[]);

/* What a write makes of the size of the file: it ends where the last element of the part does, if not behind it. */
void note_size(const struct walker *walker, uint32_t i, const struct fallsfs_range part[]);

#endif
