/* SPDX-License-Identifier: MIT */
/* Random programs on simulated disks, interrupted anywhere. */
#include "test/core/world.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>

#define STEPS   14
#define CRASHES 4 /* states that one interrupted machine may come back in, at random */

static const struct {
    unsigned n_disks;
    const char *layout;
} shapes[] = {
    { 1, "one" },
    { 2, "stripe(64)" },
    { 3, "stripe(7)" },
    { 2, "stripe(512)" },
    { 3, "stripe(128) disp 100" },
    { 4, "{(0,3,8,2,{(0,0,2,2)});(1,3,8,2,{(0,0,2,2)});(4,7,8,2)}" },
    { 2, "stripe(100,5)" },
    { 4, "var(10,200,30)" },
};

static void run_steps(struct world *world, struct rng *rng)
{
    for (int i = 0; i < STEPS && !world->sim->down && world->why[0] == 0; i++)
        world_step(world, rng);
}

/* FALLSFS_TRACE=1 shows every call to a disk, with the moments between them. */
static void trace(struct sim *sim, const char *what)
{
    if (getenv("FALLSFS_TRACE") == NULL)
        return;
    fprintf(stderr, "-- %s\n", what);
    sim_trace(sim, stderr);
}

/* The same program up to the point of interruption: 0 runs to its end. Returns the calls it made. */
static uint64_t run_program(struct world *world, uint64_t seed, uint64_t crash_at)
{
    struct rng rng = rng_from_seed(seed);
    size_t shape = rng_below(&rng, ARRAY_SIZE(shapes));
    uint64_t before;

    world_done(world);
    if (world_init(world, shapes[shape].n_disks, shapes[shape].layout, seed) < 0)
        return 0;
    before = world->sim->calls;
    if (crash_at > 0)
        sim_crash_at(world->sim, before + crash_at);
    trace(world->sim, "program");
    if (world_mount(world) == 0) {
        run_steps(world, &rng);
        if (!world->sim->down && rng_chance(&rng, 50))
            world_unmount(world);
    }
    return world->sim->calls - before;
}

static void recover(struct world *world)
{
    if (world_mount(world) == 0)
        world_check(world);
    if (world->fs == NULL)
        return;
    if (world->why[0] == 0)
        world_unmount(world);
    else
        world_abandon(world);
    /* And what was found stays. */
    if (world->why[0] == 0 && world_mount(world) == 0)
        world_check(world);
    world_abandon(world);
}

/* One state that the interrupted machine may come back in. */
static void come_back(struct world *world, struct rng *rng, bool killed)
{
    struct world again = *world;
    static struct world_file file[WORLD_FILES];

    memcpy(file, world->file, sizeof file);
    again.file = file;
    again.sim = sim_clone(world->sim);
    if (killed)
        sim_kill(again.sim);
    else
        sim_crash(again.sim, rng);
    trace(again.sim, killed ? "killed" : "crashed");
    recover(&again);
    sim_free(again.sim);
    memcpy(world->why, again.why, sizeof world->why);
}

static void crash_once(uint64_t seed, uint64_t at)
{
    static struct world world;
    struct rng rng = rng_from_seed(seed * 1000003 + at);

    (void) run_program(&world, seed, at);
    if (world.why[0] == 0 && world.fs != NULL)
        world_abandon(&world);
    for (int i = 0; world.why[0] == 0 && i < CRASHES; i++)
        come_back(&world, &rng, i == 0);
    cr_assert(world.why[0] == 0, RNG_SEED " interrupted at call %" PRIu64 " (%s): %s\n%s", seed, at, world.layout,
              world.why, world.program);
    world_done(&world);
}

#define SHARDS 8

ParameterizedTestParameters(crash, what_was_promised_comes_back)
{
    static uint64_t shard[SHARDS] = { 0, 1, 2, 3, 4, 5, 6, 7 };

    return cr_make_param_array(uint64_t, shard, SHARDS);
}

ParameterizedTest(uint64_t *shard, crash, what_was_promised_comes_back)
{
    const char *at = getenv("FALLSFS_CALL"); /* interrupt there alone */

    for (struct rng rng = rng_shard_from_env(4000, *shard, SHARDS); rng_next(&rng);) {
        static struct world world;
        uint64_t n_calls = run_program(&world, rng.seed, 0);

        cr_assert(world.why[0] == 0, RNG_SEED ", not interrupted (%s): %s\n%s", rng.seed, world.layout, world.why,
                  world.program);
        if (world.fs != NULL)
            world_abandon(&world);
        world_done(&world);
        for (int i = 0; i < 8 && at == NULL; i++)
            crash_once(rng.seed, 1 + rng_below(&rng, n_calls));
        if (at != NULL)
            crash_once(rng.seed, strtoull(at, NULL, 10));
    }
}
