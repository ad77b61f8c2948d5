/* SPDX-License-Identifier: MIT */
/* Random programs on simulated disks, interrupted anywhere. */
#include "test/core/world.h"

#include "fs/core/file/file.h"
#include "fs/core/tree/tree.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <string.h>

#define STEPS   14
#define CRASHES 4 /* how often one interrupted machine comes back: once killed, else after a loss of power */

static const struct world_shape shapes[] = {
    { 1, "one", 0 },
    { 2, "stripe(64)", 0 },
    { 3, "stripe(7)", 0 },
    { 2, "stripe(512)", 0 },
    { 3, "stripe(128) disp 100", 0 },
    { 4, "{(0,3,8,2,{(0,0,2,2)});(1,3,8,2,{(0,0,2,2)});(4,7,8,2)}", 0 },
    { 2, "stripe(100,5)", 0 },
    { 4, "var(10,200,30)", 0 },
    { 3, "stripe(7)", SIM_LACKS_TMPFILE },
    { 2, "stripe(128) disp 100", SIM_LACKS_TMPFILE },
    { 1, "one", SIM_LACKS_TMPFILE },
};

static void run_steps(struct world *world, struct rng *rng)
{
    for (int i = 0; i < STEPS && !world->sim->down && world->why[0] == 0; i++)
        world_step(world, rng);
}

/* Shows every call to a disk when FALLSFS_TRACE is set, with a line for each part of the test. */
static void trace(struct sim *sim, const char *what)
{
    if (getenv("FALLSFS_TRACE") == NULL)
        return;
    fprintf(stderr, "-- %s\n", what);
    sim_trace(sim, stderr);
}

/* Runs the program of a seed up to its call crash_at; 0: to its end. Returns how many calls it made. */
static uint64_t run_program(struct world *world, uint64_t seed, enum world_kind kind, uint64_t crash_at)
{
    struct rng rng = rng_from_seed(seed);
    size_t shape = rng_below(&rng, ARRAY_SIZE(shapes));
    uint64_t before;

    world_done(world);
    if (world_init(world, shapes[shape].n_disks, shapes[shape].layout, shapes[shape].home_lacks, seed) < 0)
        return 0;
    world_set_kind(world, kind);
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

/* Runs some more steps: what has come back must also go on, with what an interrupted operation has left lying
 * around. */
static void go_on(struct world *world, struct rng *rng)
{
    for (int i = 0; i < STEPS / 2 && world->why[0] == 0; i++)
        world_step(world, rng);
}

static void recover(struct world *world, struct rng *rng)
{
    if (world_mount(world) == 0)
        world_check(world);
    if (world->migrates && world->fs != NULL && world->why[0] == 0) {
        world_finish_jobs(world);
        world_check_same(world);
    }
    if (world->fs != NULL && world->why[0] == 0)
        go_on(world, rng);
    if (world->fs == NULL)
        return;
    if (world->why[0] == 0)
        world_unmount(world);
    else
        world_abandon(world);
    /* What was found stays over another mount. */
    if (world->why[0] == 0 && world_mount(world) == 0)
        world_check(world);
    world_abandon(world);
}

/* Has the interrupted machine come back, as it was after a kill, or in a random state after a loss of power, and checks
 * it. */
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
    recover(&again, rng);
    sim_free(again.sim);
    memcpy(world->why, again.why, sizeof world->why);
    if (again.why[0] != 0)
        memcpy(world->program, again.program, sizeof world->program);
}

static void crash_once(uint64_t seed, enum world_kind kind, uint64_t at)
{
    static struct world world;
    struct rng rng = rng_from_seed(seed * 1000003 + at);

    (void) run_program(&world, seed, kind, at);
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

static void crash_programs(uint64_t cases, uint64_t shard, enum world_kind kind)
{
    const char *at = getenv("FALLSFS_CALL"); /* only this call is interrupted */

    for (struct rng rng = rng_shard_from_env(cases, shard, SHARDS); rng_next(&rng);) {
        static struct world world;
        uint64_t n_calls = run_program(&world, rng.seed, kind, 0);

        cr_assert(world.why[0] == 0, RNG_SEED ", not interrupted (%s): %s\n%s", rng.seed, world.layout, world.why,
                  world.program);
        if (world.fs != NULL)
            world_abandon(&world);
        world_done(&world);
        for (int i = 0; i < 8 && at == NULL; i++)
            crash_once(rng.seed, kind, 1 + rng_below(&rng, n_calls));
        if (at != NULL)
            crash_once(rng.seed, kind, strtoull(at, NULL, 10));
    }
}

ParameterizedTest(uint64_t *shard, crash, what_was_promised_comes_back)
{
    crash_programs(4000, *shard, PLAIN);
}

ParameterizedTestParameters(crash, a_migration_changes_nothing)
{
    static uint64_t shard[SHARDS] = { 0, 1, 2, 3, 4, 5, 6, 7 };

    return cr_make_param_array(uint64_t, shard, SHARDS);
}

ParameterizedTest(uint64_t *shard, crash, a_migration_changes_nothing)
{
    crash_programs(1000, *shard, MIGRATIONS);
}

ParameterizedTestParameters(crash, replicas_have_what_the_file_has)
{
    static uint64_t shard[SHARDS] = { 0, 1, 2, 3, 4, 5, 6, 7 };

    return cr_make_param_array(uint64_t, shard, SHARDS);
}

ParameterizedTest(uint64_t *shard, crash, replicas_have_what_the_file_has)
{
    crash_programs(1000, *shard, REPLICAS);
}

ParameterizedTestParameters(crash, disks_that_join_and_leave_lose_nothing)
{
    static uint64_t shard[SHARDS] = { 0, 1, 2, 3, 4, 5, 6, 7 };

    return cr_make_param_array(uint64_t, shard, SHARDS);
}

ParameterizedTest(uint64_t *shard, crash, disks_that_join_and_leave_lose_nothing)
{
    crash_programs(500, *shard, DISKS);
}

ParameterizedTestParameters(crash, at_every_call)
{
    static uint64_t shard[SHARDS] = { 0, 1, 2, 3, 4, 5, 6, 7 };

    return cr_make_param_array(uint64_t, shard, SHARDS);
}

/* Few programs are interrupted at each of their calls. */
ParameterizedTest(uint64_t *shard, crash, at_every_call)
{
    uint64_t n = getenv("FALLSFS_FULL") != NULL ? 1000 : getenv("FALLSFS_MAX_CASES") != NULL ? 1 : 2;

    for (uint64_t seed = *shard * n + 1; seed <= (*shard + 1) * n; seed++) {
        static struct world world;
        enum world_kind kind = (enum world_kind)(seed % 4);
        uint64_t n_calls = run_program(&world, seed, kind, 0);

        if (world.fs != NULL)
            world_abandon(&world);
        world_done(&world);
        cr_assert_gt(n_calls, 0);
        for (uint64_t at = 1; at <= n_calls; at++)
            crash_once(seed, kind, at);
    }
}

/* -- what is lost later -- */

/* Takes a part of a file away after some mounts, some of which ended badly: what was durable once must be an error. */
static void lose_once(uint64_t seed)
{
    static struct world world;
    struct rng rng = rng_from_seed(seed);
    size_t shape = rng_below(&rng, ARRAY_SIZE(shapes));
    struct world_lost lost;

    if (world_init(&world, shapes[shape].n_disks, shapes[shape].layout, shapes[shape].home_lacks, seed) == 0) {
        world_set_kind(&world, rng_chance(&rng, 30) ? MIGRATIONS : rng_chance(&rng, 40) ? REPLICAS : PLAIN);
        world_live(&world, &rng, 2 + (unsigned) rng_below(&rng, 3));
    }
    if (world.why[0] == 0 && world_lose(&world, &rng, &lost))
        for (int i = 0; i < 3 && world.why[0] == 0 && world_mount(&world) == 0; i++) {
            world_check_lost(&world, &lost);
            if (world.why[0] == 0)
                world_check_lost(&world, &lost); /* the first reading has changed nothing */
            world_abandon(&world);
        }
    cr_assert(world.why[0] == 0, RNG_SEED " (%s): %s\n%s", seed, world.layout, world.why, world.program);
    world_done(&world);
}

ParameterizedTestParameters(crash, what_was_durable_is_never_zeros)
{
    static uint64_t shard[SHARDS] = { 0, 1, 2, 3, 4, 5, 6, 7 };

    return cr_make_param_array(uint64_t, shard, SHARDS);
}

ParameterizedTest(uint64_t *shard, crash, what_was_durable_is_never_zeros)
{
    for (struct rng rng = rng_shard_from_env(6000, *shard, SHARDS); rng_next(&rng);)
        lose_once(rng.seed);
}

static const struct world_shape two_copies[] = {
    { 2, "stripe(64) copies 2", 0 },           { 3, "stripe(7) copies 2", 0 },      { 2, "one copies 2", 0 },
    { 3, "stripe(128) disp 100 copies 2", 0 }, { 4, "var(10,200,30) copies 2", 0 }, { 2, "stripe(100,5) copies 2", 0 },
};

/* Takes any disk away after some mounts, some of which ended badly: what was durable once is in the second copy. */
static void lose_disk_once(uint64_t seed)
{
    static struct world world;
    struct rng rng = rng_from_seed(seed);
    size_t shape = rng_below(&rng, ARRAY_SIZE(two_copies));

    if (world_init(&world, two_copies[shape].n_disks, two_copies[shape].layout, 0, seed) == 0) {
        world.copies = true;
        world_live(&world, &rng, 1 + (unsigned) rng_below(&rng, 4));
    }
    if (world.why[0] == 0)
        world_lose_disk(&world, &rng);
    cr_assert(world.why[0] == 0, RNG_SEED " (%s): %s\n%s", seed, world.layout, world.why, world.program);
    world_done(&world);
}

ParameterizedTestParameters(crash, what_was_durable_survives_a_disk)
{
    static uint64_t shard[SHARDS] = { 0, 1, 2, 3, 4, 5, 6, 7 };

    return cr_make_param_array(uint64_t, shard, SHARDS);
}

ParameterizedTest(uint64_t *shard, crash, what_was_durable_survives_a_disk)
{
    for (struct rng rng = rng_shard_from_env(6000, *shard, SHARDS); rng_next(&rng);)
        lose_disk_once(rng.seed);
}

static void expect_bytes(struct world *world, struct file *file, const char *bytes, size_t len)
{
    char found[256];

    cr_assert_eq(file_read(world->fs, file, found, sizeof found, 0), (ssize_t) len);
    cr_assert_arr_eq(found, bytes, len);
}

/* A truncation that a crash has undone leaves a subfile of the next generation, which the next truncation must not
 * show. */
Test(crash, a_generation_that_was_undone_stays_so)
{
    static const char zeros[128];
    static const struct cred cred = { .umask = 022 };
    static struct world world;
    char inner[OBJECT_PATH], path[OBJECT_PATH + 16];
    struct inode *inode;
    struct file *file;
    struct stat st;

    cr_assert_eq(world_init(&world, 1, "one", 0, 1), 0);
    cr_assert_eq(world_mount(&world), 0);
    cr_assert_eq(tree_create(world.fs, inodes_root(world.fs->inodes), "f", 0644, &cred, &inode, &st, &file), 0);
    cr_assert_eq(file_write(world.fs, file, "first", 5, 0), 5);
    object_path(world.fs->volume, file->record.id, file->record.gen + 1, 0, file->now->layout, inner);
    snprintf(path, sizeof path, ".fallsfs/%s", inner);
    cr_assert_eq(sim_poke(sim_disk(world.sim, 0), path, 0, "undone bytes", 12), 0);

    cr_assert_eq(file_truncate(world.fs, file, 0), 0);
    cr_assert_eq(file_truncate(world.fs, file, 10), 0);
    expect_bytes(&world, file, zeros, 10);
    cr_assert_eq(file_write(world.fs, file, "", 1, 100), 1);
    expect_bytes(&world, file, zeros, 101);

    file_put(world.fs, file);
    inode_unref(world.fs->inodes, inode);
    world_abandon(&world);
    world_done(&world);
}
