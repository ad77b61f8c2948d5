/* SPDX-License-Identifier: MIT */
#include "test/support/rng.h"

static bool from_env(const char *name, uint64_t *ret)
{
    const char *value = getenv(name);

    if (value == NULL || *value == 0)
        return false;
    *ret = strtoull(value, NULL, 10);
    return true;
}

struct rng rng_from_seed(uint64_t seed)
{
    return (struct rng){ .seed = seed, .state = seed };
}

struct rng rng_shard_from_env(uint64_t cases, uint64_t shard, uint64_t n_shards)
{
    struct rng rng = { 0 };
    uint64_t first = 1, seed, most;

    if (!from_env("FALLSFS_CASES", &cases) && from_env("FALLSFS_MAX_CASES", &most))
        cases = MIN(cases, most);
    (void) from_env("FALLSFS_FIRST", &first);
    rng.left = cases / n_shards + (shard < cases % n_shards);
    rng.seed = first + shard * (cases / n_shards + 1) - 1;
    if (from_env("FALLSFS_SEED", &seed)) {
        rng.seed = seed - 1;
        rng.left = shard == 0;
    }
    return rng;
}

struct rng rng_from_env(uint64_t cases)
{
    return rng_shard_from_env(cases, 0, 1);
}

bool rng_next(struct rng *rng)
{
    if (rng->left == 0)
        return false;
    rng->left--;
    rng->state = ++rng->seed;
    return true;
}

/* splitmix64: every seed, also 1, 2, 3, gives a sequence of its own. */
uint64_t rng_u64(struct rng *rng)
{
    uint64_t x = rng->state += UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

uint64_t rng_below(struct rng *rng, uint64_t n)
{
    return rng_u64(rng) % n;
}

uint64_t rng_between(struct rng *rng, uint64_t lo, uint64_t hi)
{
    return lo + rng_below(rng, hi - lo + 1);
}

bool rng_chance(struct rng *rng, unsigned percent)
{
    return rng_below(rng, 100) < percent;
}
