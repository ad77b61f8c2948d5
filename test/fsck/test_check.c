/* SPDX-License-Identifier: MIT */
/* The check in memory: random programs on simulated disks, interrupted anywhere. Whatever state they come back in,
 * looking writes nothing, no crash is taken for damage, a second run has nothing more to repair, an interrupted run can
 * be done again, and afterwards all that was promised is still there. */
#include "fs/core/file.h"
#include "fs/core/jobs.h"
#include "fs/core/tree.h"
#include "fs/fsck/check.h"
#include "test/core/world.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <string.h>

#define STEPS  14
#define SHARDS 4

static const struct world_shape shapes[] = {
    { 1, "one", 0 },
    { 2, "stripe(64)", 0 },
    { 3, "stripe(7)", 0 },
    { 2, "stripe(100,5)", 0 },
    { 3, "stripe(128) disp 100", 0 },
    { 4, "var(10,200,30)", 0 },
    { 3, "stripe(7)", SIM_LACKS_TMPFILE },
};

/* -- fsck of a world -- */

/* What was found and should not be, or something that was left. */
struct heard {
    char left[512];
};

static void hear_all(void *arg, const struct finding *finding)
{
    struct heard *heard = arg;

    if (heard->left[0] == 0)
        snprintf(heard->left, sizeof heard->left, "%s (%s): %s", finding->kind,
                 finding->path != NULL     ? finding->path
                 : finding->object != NULL ? finding->object
                                           : "",
                 finding->what);
}

static void hear(void *arg, const struct finding *finding)
{
    if (finding->fate == FINDING_LEFT)
        hear_all(arg, finding);
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
    int r = open_volume(sim, n_disks, check->repair ? VOLUME_REPAIR : VOLUME_READ_ONLY, &volume);

    if (r < 0)
        return r;
    r = check_volume(check, volume);
    if (r == 0 && check->repair)
        r = volume_sync(volume);
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

    if (world_init(world, shapes[shape].n_disks, shapes[shape].layout, shapes[shape].home_lacks, seed) < 0)
        return 0;
    world->migrates = rng_chance(&rng, 50);
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

/* After an orderly end, with all jobs done, there is nothing to be repaired or removed. */
static void expect_nothing_left(struct world *world, uint64_t seed, uint64_t at)
{
    struct heard heard = { "" };
    struct check check = { .tell = hear_all, .arg = &heard };

    cr_assert_eq(run_fsck(world->sim, world->n_disks, &check), 0, WHERE "fsck at the end", OF(world, at));
    cr_assert(heard.left[0] == 0, WHERE "after an orderly end: %s\n%s", OF(world, at), heard.left, world->program);
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
        world_finish_jobs(&world);
        world_check_same(&world);
        world_unmount(&world);
    }
    cr_assert(world.why[0] == 0, WHERE "after fsck: %s\n%s", OF(&world, at), world.why, world.program);
    expect_nothing_left(&world, seed, at);
    world_done(&world);
}

ParameterizedTestParameters(fsck, an_orderly_end_leaves_nothing)
{
    static uint64_t shard[SHARDS] = { 0, 1, 2, 3 };

    return cr_make_param_array(uint64_t, shard, SHARDS);
}

ParameterizedTest(uint64_t *shard, fsck, an_orderly_end_leaves_nothing)
{
    for (struct rng rng = rng_shard_from_env(600, *shard, SHARDS); rng_next(&rng);) {
        static struct world world;

        (void) run_program(&world, rng.seed, 0);
        if (world.fs == NULL)
            (void) world_mount(&world);
        world_finish_jobs(&world);
        world_unmount(&world);
        cr_assert(world.why[0] == 0, WHERE "%s\n%s", rng.seed, UINT64_C(0), world.layout, world.why, world.program);
        expect_nothing_left(&world, rng.seed, 0);
        world_done(&world);
    }
}

/* Whatever a migration has come to, emptying the file leaves nothing of it. */
Test(fsck, a_file_emptied_while_it_is_migrated)
{
    static const struct cred cred = { .umask = 022 };

    for (int steps = 0; steps < 12; steps++) {
        static struct world world;
        struct layout_error error;
        struct choice choice;
        struct inode *inode;
        struct file *file;
        struct stat st;
        uint64_t number;

        cr_assert_eq(world_init(&world, 3, "one on d1", 0, 1), 0);
        cr_assert_eq(world_mount(&world), 0);
        cr_assert_eq(tree_create(world.fs, inodes_root(world.fs->inodes), "f", 0644, &cred, &inode, &st, &file), 0);
        cr_assert_eq(file_write(world.fs, file, "bytes", 5, 600), 5);
        cr_assert_eq(layouts_add(world.fs->layouts, "stripe(7) on d0,d2", &choice.layout, &choice.rotates, &error), 0);
        cr_assert_eq(jobs_add(world.fs->jobs, inode, choice.layout, choice.rotates, 0, &number), 0);
        layouts_put(world.fs->layouts, choice.layout);
        for (int i = 0; i < steps; i++)
            (void) jobs_step(world.fs->jobs);
        cr_assert_eq(file_truncate(world.fs, file, 0), 0);
        file_put(world.fs, file);
        inode_unref(world.fs->inodes, inode);
        world_finish_jobs(&world);
        cr_assert_eq(fs_free(steal(world.fs)), 0);
        expect_nothing_left(&world, 1, (uint64_t) steps);
        world_done(&world);
    }
}

/* Each directory there is, unreadable once. */
Test(fsck, what_cannot_be_read_is_told)
{
    static struct world world;
    struct heard heard = { "" };
    struct check check = { .tell = hear, .arg = &heard };
    uint64_t n_calls;

    (void) run_program(&world, 1, 0);
    if (world.fs != NULL)
        world_abandon(&world);
    n_calls = world.sim->calls;
    cr_assert_eq(run_fsck(world.sim, world.n_disks, &check), 0);
    n_calls = world.sim->calls - n_calls;
    for (uint64_t i = 1; i <= n_calls; i++) {
        uint64_t before = world.sim->calls, n_failed = world.sim->n_failed;
        const struct sim_fault fault = { before + i, EIO, false, -1, SIM_MASK(SIM_READ_DIR) };
        int r;

        sim_fail_calls(world.sim, &fault);
        r = run_fsck(world.sim, world.n_disks, &check);
        sim_heal(world.sim);
        if (world.sim->n_failed > n_failed)
            cr_expect(r < 0 || check.n_left > 0, "a directory cannot be read at call %" PRIu64 ": nobody says so", i);
    }
    cr_expect_geq(world.sim->n_failed, 6, "ns, todo, tmp, layout, obj and what is in it");
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
