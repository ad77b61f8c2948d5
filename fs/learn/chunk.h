/* SPDX-License-Identifier: MIT */
/* Chunks: the longest byte ranges whose bytes all have the same readers and the same writers.
 *
 *     rank 0 writes   ████████████
 *     rank 1 reads            ████████
 *     rank 2 reads                    ████
 *     chunks          [  one  ][wro][one ]...      one process only, written by one and read by others
 *
 * They are found by going over the beginnings and ends of all touches in file order, in n log n: what changes at a
 * place is looked at, never the whole sets. */
#ifndef FALLSFS_FS_LEARN_CHUNK_H
#define FALLSFS_FS_LEARN_CHUNK_H

#include "fs/learn/touch.h"

/* The paper's four classes. */
enum chunk_class {
    CHUNK_ONE,         /* touched by one process only */
    CHUNK_READ,        /* read by many, never written */
    CHUNK_WRITTEN_ONE, /* written by one, read by others */
    CHUNK_SHARED,      /* everything else */
    CHUNK_CLASSES,
};

struct chunk {
    uint64_t off, end;
    uint32_t first;         /* the earliest touch of any of its bytes, as an index */
    uint32_t reads, writes; /* how many touches have some of its bytes */
    uint32_t readers, writers, ranks;
    uint32_t top;        /* the rank with most touches; of several the lowest */
    uint32_t top_reader; /* the same of reads; where nobody reads it, top */
};

struct chunks {
    struct chunk *chunk; /* in file order */
    size_t n;
};

enum chunk_class chunk_class(const struct chunk *chunk);

/* -ENOMEM. */
int chunks_init(struct chunks *chunks, const struct touches *touches);
void chunks_done(struct chunks *chunks);

#endif
