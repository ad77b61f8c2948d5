/* SPDX-License-Identifier: MIT */
/* Random traces of one file, and the same file read byte by byte: the truth that fs/learn is held against. */
#ifndef FALLSFS_TEST_LEARN_LEARNED_H
#define FALLSFS_TEST_LEARN_LEARNED_H

#include "fs/learn/partition.h"
#include "test/support/rng.h"

#define LEARNED_BYTES     256
#define LEARNED_ACCESSES  48
#define LEARNED_PROCESSES 6

/* A trace in memory that needs no freeing, since nothing in it was allocated. */
struct learned {
    struct trace trace;
    struct traced_process process[LEARNED_PROCESSES];
    struct traced_access access[LEARNED_ACCESSES];
};

/* Makes a random trace of file 0, with accesses of another file, failed and empty ones, and times out of order. */
void learned_random(struct learned *learned, struct rng *rng);

/* Adds one access to a trace that has room for it. */
void learned_add(struct learned *learned, uint32_t process, bool writes, uint64_t offset, uint64_t len);

/* What chunks_init must find, by asking of every byte who reads and who writes it. */
size_t learned_chunks(const struct learned *learned, struct chunk chunk[static LEARNED_BYTES]);

/* The process that became this rank. */
uint32_t learned_process(const struct learned *learned, uint32_t rank);

#endif
