/* SPDX-License-Identifier: MIT */
/* What programs do with one file, P processes together: the five workloads of Wang and Kaeli's paper, and two where
 * little can be gained. A step is one call of one process, a range of bytes or a section of an array:
 *
 *     name        written                                          read back
 *     bt          cells of a cube of 40-byte elements, some along  the same
 *                 a diagonal to each process (NPB BT-IO)
 *     seismic     96 KiB each, in turns                            what one has written, 2 KiB at a time
 *     tiles       32 KiB of each row, 2 KiB of it the neighbour's  the same
 *     perf        1 MiB each, in turns                             the same
 *     mandelbrot  rows of an image, handed out to who is free      the same
 *     media       one process, 256 KiB at a time                   likewise
 *     database    a part each, 1,000,000 bytes at a time           records of 100 bytes anywhere
 *
 * Which step is whose depends on nothing but the program below: it is the same in each run. */
#ifndef FALLSFS_TEST_BENCH_WORKLOADS_H
#define FALLSFS_TEST_BENCH_WORKLOADS_H

#include "ioctl/client/fallsfs.h"
#include "layout/base.h"

#define WORKLOADS_MIN_BYTES (UINT64_C(4) << 20)

struct step {
    uint64_t off, len; /* of the file; len also of a section */
    bool is_section;
    struct fallsfs_range section[4];
};

struct extent {
    uint64_t off, len;
};

struct program;

struct workload {
    const char *name;
    uint32_t n_threads; /* of a process while it reads */
    int (*prepare)(struct program *program);
    uint64_t (*count)(const struct program *program, uint32_t rank, bool writes);
    struct step (*step)(const struct program *program, uint32_t rank, bool writes, uint64_t i);
};

struct program {
    const struct workload *workload;
    uint32_t n_procs;
    uint64_t seed;              /* of what a user may have asked for */
    uint64_t bytes;             /* of the file: about what was asked for */
    struct fallsfs_array array; /* of sections */
    uint64_t piece;             /* bytes that are dealt out at a time */
    struct extent *extent;      /* what follows no rule: each one's, one process behind the other */
    uint64_t *first;            /* of each process, in extent; and one more */
};

const struct workload *workload_find(const char *name); /* NULL: there is none */
const struct workload *workload_at(size_t i);           /* NULL: there are no more */

/* -EINVAL that number of processes is not for this workload, or the file would be too small, -ENOMEM. */
int program_init(struct program *program, const struct workload *workload, uint32_t n_procs, uint64_t bytes,
                 uint64_t seed);
/* Process i writes and reads element i of a layout, all its bytes in the order of the file. -EINVAL it is none, or has
 * not so many elements. */
int program_init_elements(struct program *program, const char *layout, uint32_t n_procs, uint64_t bytes);
void program_done(struct program *program);

/* How many steps one process has, and which. */
static inline uint64_t program_count(const struct program *program, uint32_t rank, bool writes)
{
    return program->workload->count(program, rank, writes);
}

static inline struct step program_step(const struct program *program, uint32_t rank, bool writes, uint64_t i)
{
    return program->workload->step(program, rank, writes, i);
}

#endif
