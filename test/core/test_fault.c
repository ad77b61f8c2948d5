/* SPDX-License-Identifier: MIT */
/* Random programs on simulated disks one call of which fails, once or from then on. What the program did before is
 * there; what failed did happen or did not; everything can be read and goes on as soon as the disk is well. */
#include "test/core/world.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <string.h>

#define STEPS 16

static const struct world_shape shapes[] = {
    { 1, "one", 0 },
    { 2, "stripe(64)", 0 },
    { 3, "stripe(7)", 0 },
    { 3, "stripe(128) disp 100", 0 },
    { 4, "var(10,200,30)", 0 },
    { 3, "stripe(7)", SIM_LACKS_TMPFILE },
    { 2, "stripe(128) disp 100", SIM_LACKS_TMPFILE },
    { 1, "one", SIM_LACKS_TMPFILE },
};

static const int errors[] = { EIO, ENOSPC, EROFS, ENOMEM, EDQUOT, 0 };

struct fault {
    uint64_t at;
    int error, disk;
    bool persistent;
};

/* Runs steps; after the first one that has met the fault the disk is well again, and everything is checked. */
static void run_steps(struct world *world, struct rng *rng)
{
    bool met = false;

    for (int i = 0; i < STEPS && world->why[0] == 0; i++) {
        uint64_t before = world->sim->n_failed;

        world_step(world, rng);
        if (met || world->sim->n_failed == before)
            continue;
        met = true;
        sim_heal(world->sim);
        world->faulty = false;
        if (world->why[0] == 0)
            world_check(world);
    }
}

static uint64_t run_program(struct world *world, uint64_t seed, enum world_kind kind, const struct fault *fault)
{
    struct rng rng = rng_from_seed(seed);
    size_t shape = rng_below(&rng, ARRAY_SIZE(shapes));
    uint64_t n_calls;

    if (world_init(world, shapes[shape].n_disks, shapes[shape].layout, shapes[shape].home_lacks, seed) < 0 ||
        world_mount(world) < 0)
        return 0;
    world_set_kind(world, kind);
    n_calls = world->sim->calls;
    if (fault != NULL) {
        world->faulty = true;
        sim_fail(world->sim, n_calls + fault->at, fault->error, fault->persistent,
                 fault->disk % (int) (world->n_disks + 1) - 1);
    }
    if (fault != NULL && getenv("FALLSFS_TRACE") != NULL)
        sim_trace(world->sim, stderr);
    run_steps(world, &rng);
    n_calls = world->sim->calls - n_calls;
    sim_heal(world->sim);
    world->faulty = false;
    if (world->why[0] == 0)
        world_check(world);
    if (kind != PLAIN && world->why[0] == 0) {
        world_finish_jobs(world);
        world_check_same(world);
    }
    if (world->why[0] == 0)
        world_unmount(world);
    if (world->why[0] == 0 && world_mount(world) == 0)
        world_check(world);
    world_abandon(world);
    return n_calls;
}

static void fail_once(uint64_t seed, enum world_kind kind, const struct fault *fault)
{
    static struct world world;

    (void) run_program(&world, seed, kind, fault);
    cr_assert(world.why[0] == 0, RNG_SEED ", call %" PRIu64 " gives %s%s on disk %d (%s): %s\n%s", seed, fault->at,
              fault->error != 0 ? strerror(fault->error) : "half", fault->persistent ? " for ever" : "",
              fault->disk % (int) (world.n_disks + 1) - 1, world.layout, world.why, world.program);
    world_done(&world);
}

#define SHARDS 4

ParameterizedTestParameters(fault, nothing_else_is_lost)
{
    static uint64_t shard[SHARDS] = { 0, 1, 2, 3 };

    return cr_make_param_array(uint64_t, shard, SHARDS);
}

static void fail_programs(uint64_t cases, uint64_t shard, enum world_kind kind)
{
    for (struct rng rng = rng_shard_from_env(cases, shard, SHARDS); rng_next(&rng);) {
        static struct world world;
        uint64_t n_calls = run_program(&world, rng.seed, kind, NULL);

        cr_assert(world.why[0] == 0, RNG_SEED ", without a fault (%s): %s\n%s", rng.seed, world.layout, world.why,
                  world.program);
        world_done(&world);
        for (int i = 0; i < 8; i++) {
            struct fault fault = { .at = 1 + rng_below(&rng, n_calls),
                                   .error = errors[rng_below(&rng, ARRAY_SIZE(errors))],
                                   .disk = (int) rng_below(&rng, 60),
                                   .persistent = rng_chance(&rng, 50) };

            fail_once(rng.seed, kind, &fault);
        }
    }
}

ParameterizedTest(uint64_t *shard, fault, nothing_else_is_lost)
{
    fail_programs(3000, *shard, PLAIN);
}

ParameterizedTestParameters(fault, nor_by_a_migration)
{
    static uint64_t shard[SHARDS] = { 0, 1, 2, 3 };

    return cr_make_param_array(uint64_t, shard, SHARDS);
}

ParameterizedTest(uint64_t *shard, fault, nor_by_a_migration)
{
    fail_programs(1000, *shard, MIGRATIONS);
}

ParameterizedTestParameters(fault, nor_by_replicas)
{
    static uint64_t shard[SHARDS] = { 0, 1, 2, 3 };

    return cr_make_param_array(uint64_t, shard, SHARDS);
}

ParameterizedTest(uint64_t *shard, fault, nor_by_replicas)
{
    fail_programs(400, *shard, REPLICAS); /* those that wait for a full disk take long */
}

ParameterizedTestParameters(fault, nor_by_disks_that_come_and_go)
{
    static uint64_t shard[SHARDS] = { 0, 1, 2, 3 };

    return cr_make_param_array(uint64_t, shard, SHARDS);
}

ParameterizedTest(uint64_t *shard, fault, nor_by_disks_that_come_and_go)
{
    fail_programs(1000, *shard, DISKS);
}

ParameterizedTestParameters(fault, at_every_call)
{
    static uint64_t shard[SHARDS] = { 0, 1, 2, 3 };

    return cr_make_param_array(uint64_t, shard, SHARDS);
}

/* Few programs, but each error at each of their calls. */
ParameterizedTest(uint64_t *shard, fault, at_every_call)
{
    uint64_t n = getenv("FALLSFS_FULL") != NULL ? 500 : getenv("FALLSFS_MAX_CASES") != NULL ? 1 : 2;

    for (uint64_t seed = *shard * n + 1; seed <= (*shard + 1) * n; seed++) {
        static struct world world;
        enum world_kind kind = (enum world_kind)(seed % 3); /* replicas that wait for a full disk take too long */
        uint64_t n_calls = run_program(&world, seed, kind, NULL);

        world_done(&world);
        cr_assert_gt(n_calls, 0);
        for (uint64_t i = 0; i < 2 * ARRAY_SIZE(errors) * n_calls; i++) {
            struct fault fault = { .at = 1 + i / 2 / ARRAY_SIZE(errors),
                                   .error = errors[i / 2 % ARRAY_SIZE(errors)],
                                   .persistent = i % 2 == 1 };

            fail_once(seed, kind, &fault);
        }
    }
}
