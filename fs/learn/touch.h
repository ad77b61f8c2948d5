/* SPDX-License-Identifier: MIT */
/* What a trace says of one file, as byte ranges in the order of time:
 *
 *     trace     process 7001 writes 0..99, process 7000 reads 50..59, process 7001 reads section {(0,0,8,4)}
 *     touches   0: rank 0 writes [0,100)   1: rank 1 reads [50,60)   2: rank 0 reads [0,1)   3: rank 0 reads [8,9) ...
 *
 * Ranks are processes, numbered in the order of their first access, so that two runs of one program have the same;
 * those that MPI has given ranks stand before all others, in MPI's order.
 * What an access with a pattern touches is one touch for each contiguous piece. */
#ifndef FALLSFS_FS_LEARN_TOUCH_H
#define FALLSFS_FS_LEARN_TOUCH_H

#include "fs/trace/trace.h"
#include "layout/nest.h"

#define TOUCH_MAX (1u << 23) /* touches of one file: what is learned from them takes about 1 GiB */

struct touch {
    uint64_t off, end;
    uint64_t at; /* ns since the trace began */
    uint32_t rank;
    bool writes;
    bool by_pattern; /* a piece of what a section, a view, FALLS or a list asked for, which all have the same at */
};

struct touches {
    struct touch *touch; /* in order of time */
    size_t n;
    uint32_t *process; /* of each rank, its index in the trace, or TRACE_NOBODY: the kernel */
    size_t *first;     /* of each rank, its first touch, or where that would be had its access been placed */
    uint32_t n_ranks;
    uint64_t accesses, bytes_read, bytes_written;
    uint64_t of_accesses, of_bytes_read, of_bytes_written; /* what they stand for, where they are a sample */
    uint64_t unplaced; /* accesses that are left out: their pattern is not known, or there are too many pieces */
    uint64_t end;      /* of the last byte touched */
};

/* Collects the touches of a file, by its index in the trace. pattern has for each pattern of the trace the bytes that
 * it selects, NULL where nobody knows. -ENOMEM. */
int touches_init(struct touches *touches, const struct trace *trace, uint32_t file, struct nest *const pattern[]);
void touches_done(struct touches *touches);

/* Whether both are pieces of one access. */
static inline bool touch_goes_with(const struct touch *a, const struct touch *b)
{
    return a->by_pattern && b->by_pattern && a->at == b->at && a->rank == b->rank && a->writes == b->writes;
}

/* Takes touches of a rank that follow each other, in the file and among its own, as one: as they were before something
 * cut them. What others do in between does not count. ret_merged has no processes. -ENOMEM. */
int touches_merge(const struct touches *touches, struct touches *ret_merged);

/* The touches of each rank by their indices, in order of time: of rank i those from (*ret_first)[i] to before
 * (*ret_first)[i + 1]. The caller frees both. -ENOMEM. */
int touches_by_rank(const struct touches *touches, uint32_t **ret_touch, size_t **ret_first);

#endif
