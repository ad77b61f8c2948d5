/* SPDX-License-Identifier: MIT */
/* The check in memory: random programs on simulated disks, interrupted anywhere. Whatever state they come back in,
 * looking writes nothing, no crash is taken for damage, a second run has nothing more to repair, an interrupted run can
 * be done again, and afterwards all that was promised is still there. */
#include "fs/fsck/check.h"
#include "test/core/world.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <string.h>

#define STEPS  14
#define SHARDS 4

static const struct {
    unsigned n_disks;
    const char *layout;
} shapes[] = {
    { 1, "one" },           { 2, "stripe(64)" },           { 3, "stripe(7)" },
    { 2, "stripe(100,5)" }, { 3, "stripe(128) disp 100" }, { 4, "var(10,200,30)" },
};

/* -- fsck of a world -- */

/* What was found and should not be, or something that was left. */
struct heard {
    char left[512];
};

static void hear(void *arg, const struct finding *finding)
{
    struct heard *heard = arg;

    if (finding->fate == FINDING_LEFT && heard->left[0] == 0)
        snprintf(heard->left, sizeof heard->left, "%s (%s): %s", finding->kind,
                 finding->path != NULL     ? finding->path
                 : finding->object != NULL ? finding->object
                                           : "",
                 finding->what);
}

static int open_volume(struct sim *sim, unsigned n_disks, enum volume_flags flags, struct volume **ret_volume)
{
    static const char *const path[] = { "d0", "d1", "d2", "d3" };
    struct volume_error error;
    struct member member[4] = { 0 };
    int r;

    for (unsigned i = 0; i < n_disks; i++) {
        struct sim_disk *disk = sim_disk(sim, i);

        member[i] = (struct member){ .ops = &sim_ops, .ctx = disk, .dir = sim_root(disk), .path = path[i] };
    }
    r = volume_open(member, n_disks, flags, ret_volume, &error);
    for (unsigned i = 0; i < n_disks; i++)
        if (member[i].dir >= 0)
            (void) sim_ops.close(member[i].ctx, member[i].dir);
    return r;
}

/* As main.c has it. */
static int run_fsck(struct sim *sim, unsigned n_disks, struct check *check)
{
    struct volume *volume;
    int r = open_volume(sim, n_disks, check->repair ? 0 : VOLUME_READ_ONLY, &volume);

    if (r < 0)
        return r;
    r = check_volume(check, volume);
    if (r == 0 && check->repair)
        r = volume_sync(volume);
    if (r == 0)
        r = volume_end_epoch(volume);
    volume_free(volume);
    return r;
}

static char *print_all(struct sim *sim, unsigned n_disks)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    for (unsigned i = 0; i < n_disks; i++)
        sim_print(sim_disk(sim, i), out);
    fclose(out);
    return text;
}

/* -- programs -- */

static uint64_t run_program(struct world *world, uint64_t seed, uint64_t crash_at)
{
    struct rng rng = rng_from_seed(seed);
    size_t shape = rng_below(&rng, ARRAY_SIZE(shapes));
    uint64_t before;

    if (world_init(world, shapes[shape].n_disks, shapes[shape].layout, seed) < 0)
        return 0;
    before = world->sim->calls;
    if (crash_at > 0)
        sim_crash_at(world->sim, before + crash_at);
    if (world_mount(world) == 0) {
        for (int i = 0; i < STEPS && !world->sim->down && world->why[0] == 0; i++)
            world_step(world, &rng);
        if (!world->sim->down && rng_chance(&rng, 50))
            world_unmount(world);
    }
    return world->sim->calls - before;
}

#define WHERE         RNG_SEED " interrupted at call %" PRIu64 " (%s): "
#define OF(world, at) seed, at, (world)->layout

static void look(struct world *world, uint64_t seed, uint64_t at)
{
    struct heard heard = { "" };
    struct check check = { .tell = hear, .arg = &heard };
    cleanup(freep) char *before = print_all(world->sim, world->n_disks), *after = NULL;
    int r = run_fsck(world->sim, world->n_disks, &check);

    after = print_all(world->sim, world->n_disks);
    cr_assert_eq(r, 0, WHERE "fsck -n: %s", OF(world, at), strerror(-r));
    cr_assert(strcmp(before, after) == 0, WHERE "fsck -n wrote something", OF(world, at));
    cr_assert(heard.left[0] == 0, WHERE "taken for damage: %s\n%s", OF(world, at), heard.left, world->program);
}

static void repair(struct world *world, struct rng *rng, uint64_t seed, uint64_t at)
{
    struct heard heard = { "" };
    struct check check = { .repair = true, .copies = rng_chance(rng, 50), .tell = hear, .arg = &heard };
    uint64_t before = world->sim->calls;
    int r;

    if (rng_chance(rng, 50)) {
        sim_crash_at(world->sim, before + 1 + rng_below(rng, 120));
        (void) run_fsck(world->sim, world->n_disks, &check);
        sim_crash(world->sim, rng);
        heard.left[0] = 0;
    }
    r = run_fsck(world->sim, world->n_disks, &check);
    cr_assert_eq(r, 0, WHERE "fsck -y: %s", OF(world, at), strerror(-r));
    cr_assert(heard.left[0] == 0, WHERE "not repaired: %s\n%s", OF(world, at), heard.left, world->program);
    r = run_fsck(world->sim, world->n_disks, &check);
    cr_assert(r == 0 && check.n_fixed == 0 && check.n_left == 0, WHERE "a second fsck -y repairs something\n%s",
              OF(world, at), world->program);
}

static void crash_once(uint64_t seed, uint64_t at)
{
    static struct world world;
    struct rng rng = rng_from_seed(seed * 1000003 + at);

    (void) run_program(&world, seed, at);
    cr_assert(world.why[0] == 0, WHERE "%s", OF(&world, at), world.why);
    if (world.fs != NULL)
        world_abandon(&world);
    sim_crash(world.sim, &rng);
    look(&world, seed, at);
    repair(&world, &rng, seed, at);
    cr_assert_eq(sim_n_open(world.sim), 0, WHERE "descriptors are left open", OF(&world, at));
    if (world_mount(&world) == 0) {
        world_check(&world);
        world_abandon(&world);
    }
    cr_assert(world.why[0] == 0, WHERE "after fsck: %s\n%s", OF(&world, at), world.why, world.program);
    world_done(&world);
}

ParameterizedTestParameters(fsck, a_crash_is_no_damage)
{
    static uint64_t shard[SHARDS] = { 0, 1, 2, 3 };

    return cr_make_param_array(uint64_t, shard, SHARDS);
}

ParameterizedTest(uint64_t *shard, fsck, a_crash_is_no_damage)
{
    const char *at = getenv("FALLSFS_CALL"); /* interrupt there alone */

    for (struct rng rng = rng_shard_from_env(800, *shard, SHARDS); rng_next(&rng);) {
        static struct world world;
        uint64_t n_calls = run_program(&world, rng.seed, 0);

        if (world.fs != NULL)
            world_abandon(&world);
        world_done(&world);
        for (int i = 0; i < 4 && at == NULL; i++)
            crash_once(rng.seed, 1 + rng_below(&rng, n_calls));
        if (at != NULL)
            crash_once(rng.seed, strtoull(at, NULL, 10));
    }
}
