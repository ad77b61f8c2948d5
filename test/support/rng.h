/* SPDX-License-Identifier: MIT */
/* Random cases that can be had again.
 *
 *     for (struct rng rng = rng_from_env(1000); rng_next(&rng);) { ... }
 *
 * runs 1000 cases, each from a seed of its own, which a failure prints (RNG_SEED). FALLSFS_SEED=N runs that case alone,
 * FALLSFS_CASES=N runs so many, FALLSFS_MAX_CASES=N no more than that where nothing else is said, FALLSFS_FIRST=N
 * starts with another one. */
#ifndef FALLSFS_TEST_SUPPORT_RNG_H
#define FALLSFS_TEST_SUPPORT_RNG_H

#include "layout/base.h"

struct rng {
    uint64_t seed; /* of the current case */
    uint64_t state;
    uint64_t left;
};

#define RNG_SEED "FALLSFS_SEED=%" PRIu64

struct rng rng_from_env(uint64_t cases);

/* The cases of one shard, of several that share all cases out. */
struct rng rng_shard_from_env(uint64_t cases, uint64_t shard, uint64_t n_shards);

/* A generator for code that is given its seed. */
struct rng rng_from_seed(uint64_t seed);

/* Starts the next case; false when there are no more. */
bool rng_next(struct rng *rng);

uint64_t rng_u64(struct rng *rng);
uint64_t rng_below(struct rng *rng, uint64_t n);                 /* 0 .. n-1 */
uint64_t rng_between(struct rng *rng, uint64_t lo, uint64_t hi); /* lo .. hi */
bool rng_chance(struct rng *rng, unsigned percent);

#endif
