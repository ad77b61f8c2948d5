/* SPDX-License-Identifier: MIT */
/* Files get other layouts while they are written, on simulated disks: at any moment what is read is what was written,
 * and nothing is left of a layout that is over. */
#include "fs/core/change/job_list.h"
#include "fs/core/change/room_watch.h"
#include "fs/core/file/file.h"
#include "fs/core/tree/tree.h"
#include "fs/core/volume/layouts_known.h"
#include "test/core/world.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS  40
#define SHARDS 4

static const struct world_shape shapes[] = {
    { 1, "one", 0 },
    { 3, "stripe(7)", 0 },
    { 2, "stripe(512)", 0 },
    { 4, "stripe(64)", 0 },
    { 3, "stripe(128) disp 100", 0 },
    { 3, "stripe(7)", SIM_LACKS_TMPFILE },
};

ParameterizedTestParameters(migrate, what_is_read_is_what_was_written)
{
    static uint64_t shard[SHARDS] = { 0, 1, 2, 3 };

    return cr_make_param_array(uint64_t, shard, SHARDS);
}

static void random_program(struct world *world, struct rng *rng)
{
    world->migrates = true;
    for (int i = 0; i < STEPS && world->why[0] == 0; i++) {
        world_step(world, rng);
        world_check_same(world);
    }
    if (world->why[0] == 0)
        world_finish_jobs(world);
    world_check_same(world);
}

ParameterizedTest(uint64_t *shard, migrate, what_is_read_is_what_was_written)
{
    for (struct rng rng = rng_shard_from_env(1000, *shard, SHARDS); rng_next(&rng);) {
        size_t shape = rng_below(&rng, ARRAY_SIZE(shapes));
        static struct world world;

        cr_assert_eq(
            world_init(&world, shapes[shape].n_disks, shapes[shape].layout, shapes[shape].home_lacks, rng.seed), 0);
        if (getenv("FALLSFS_TRACE") != NULL)
            sim_trace(world.sim, stderr);
        cr_assert_eq(world_mount(&world), 0);
        random_program(&world, &rng);
        if (world.why[0] == 0) {
            world_unmount(&world);
            (void) world_mount(&world);
            world_check_same(&world);
        }
        cr_assert(world.why[0] == 0, RNG_SEED " (%s): %s\n%s", rng.seed, shapes[shape].layout, world.why,
                  world.program);
        world_abandon(&world);
        world_done(&world);
    }
}

static void migrate(struct world *world, struct inode *inode, const char *text)
{
    struct layout_error error;
    struct chosen_layout choice;
    uint64_t number;
    int r;

    cr_assert_eq(layouts_add(world->fs->layouts, text, &choice.layout, &choice.rotates, &error), 0, "%s", error.why);
    r = jobs_add(world->fs->jobs, inode, choice.layout, job_start(choice.rotates), 0, &world_asker, &number);
    layouts_put(world->fs->layouts, choice.layout);
    cr_assert(r >= 0, "%s: %s", text, strerror(-r));
    world_finish_jobs(world);
}

/* Files start on either disk, so that for each of these layouts some files keep both subfiles, and some none. */
Test(migrate, subfiles_stay_wherever_a_file_starts)
{
    static const char *const layouts[] = { "stripe(7,2) on d1,d0", "stripe(7,2) on d0,d1", "stripe(7,2)",
                                           "stripe(7,2) on d1,d2" };
    static const struct cred cred = { .umask = 022 };
    static struct world world;
    char name[8] = "0", found[8];

    cr_assert_eq(world_init(&world, 3, "stripe(7) on d0,d1", 0, 1), 0);
    cr_assert_eq(world_mount(&world), 0);
    for (int n = 0; n < 24; n++) {
        struct inode *inode;
        struct file *file;
        struct stat st;

        name[0] = (char) ('A' + n);
        cr_assert_eq(tree_create(world.fs, inodes_root(world.fs->inodes), name, 0644, &cred, &inode, &st, &file), 0);
        cr_assert_eq(file_write(world.fs, file, name, 2, 100), 2);
        for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
            migrate(&world, inode, layouts[(i + (size_t) n) % ARRAY_SIZE(layouts)]);
            cr_assert_eq(file_read(world.fs, file, found, 2, 100), 2);
            cr_assert_arr_eq(found, name, 2);
            cr_assert_eq(file_write(world.fs, file, name, 2, 100), 2);
        }
        file_put(world.fs, file);
        inode_unref(world.fs->inodes, inode);
    }
    world_abandon(&world);
    world_done(&world);
}

Test(migrate, a_limit_outlasts_the_mount)
{
    static const struct cred cred = { .umask = 022 };
    static const uint64_t limit = UINT64_C(100) << 20;
    static struct world world;
    struct layout_error error;
    struct chosen_layout choice;
    struct job_view view;
    struct inode *inode;
    struct file *file;
    struct stat st;
    uint64_t number;

    cr_assert_eq(world_init(&world, 2, "stripe(7)", 0, 1), 0);
    cr_assert_eq(world_mount(&world), 0);
    cr_assert_eq(tree_create(world.fs, inodes_root(world.fs->inodes), "f", 0644, &cred, &inode, &st, &file), 0);
    cr_assert_eq(file_write(world.fs, file, "some bytes", 10, 0), 10);
    cr_assert_eq(layouts_add(world.fs->layouts, "one", &choice.layout, &choice.rotates, &error), 0);
    cr_assert_eq(
        jobs_add(world.fs->jobs, inode, choice.layout, job_start(choice.rotates), limit / 2, &world_asker, &number), 0);
    cr_assert_eq(
        jobs_add(world.fs->jobs, inode, choice.layout, job_start(choice.rotates), limit, &world_asker, &number), 0,
        "said again");
    layouts_put(world.fs->layouts, choice.layout);
    file_put(world.fs, file);
    inode_unref(world.fs->inodes, inode);
    world_unmount(&world);

    cr_assert_eq(world_mount(&world), 0);
    cr_assert(jobs_step(world.fs->jobs));
    cr_assert(jobs_next(world.fs->jobs, 0, &view, &inode));
    cr_assert_eq(view.limit, limit, "%" PRIu64, view.limit);
    inode_unref(world.fs->inodes, inode);
    world_finish_jobs(&world);
    world_abandon(&world);
    world_done(&world);
}

Test(migrate, limits_are_kept_in_few_bits)
{
    static const uint64_t limits[] = { 0, 1, 2047, 2048, 102400, 999999999, UINT64_C(1) << 41 };

    for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
        uint64_t kept = record_unpack_limit(record_pack_limit(limits[i]));

        cr_assert(kept <= limits[i] && limits[i] - kept <= limits[i] / 1000, "%" PRIu64 ": %" PRIu64, limits[i], kept);
    }
    cr_assert_gt(record_unpack_limit(record_pack_limit(UINT64_MAX)), UINT64_C(1) << 41);
}

static struct file *make_file(struct world *world, const char *name, size_t len, struct inode **ret_inode)
{
    static const struct cred cred = { .umask = 022 };
    cleanup(freep) char *bytes = malloc(len);
    struct file *file;
    struct stat st;

    cr_assert_not_null(bytes);
    memset(bytes, 'x', len);
    cr_assert_eq(tree_create(world->fs, inodes_root(world->fs->inodes), name, 0644, &cred, ret_inode, &st, &file), 0);
    cr_assert_eq(file_write(world->fs, file, bytes, len, 0), (ssize_t) len);
    return file;
}

static unsigned count_of(const char *text, const char *word)
{
    unsigned n = 0;

    for (const char *at = text; (at = strstr(at, word)) != NULL; at += strlen(word))
        n++;
    return n;
}

/* Some file systems look through a whole file for its next hole: if each window asked for it, a large file would take
 * hours. */
Test(migrate, holes_are_looked_for_once_in_a_file_that_has_none)
{
    cleanup(freep) char *trace = NULL;
    static struct world world;
    struct inode *inode;
    struct file *file;
    size_t len;
    FILE *out = open_memstream(&trace, &len);

    cr_assert_not_null(out);
    cr_assert_eq(world_init(&world, 2, "stripe(64)", 0, 1), 0);
    cr_assert_eq(world_mount(&world), 0);
    file = make_file(&world, "A", 100000, &inode);
    sim_trace(world.sim, out);
    migrate(&world, inode, "stripe(7)");
    sim_trace(world.sim, NULL);
    cr_assert_eq(fclose(out), 0);
    cr_assert_gt(count_of(trace, " pwritev("), 100, "there should have been many windows: %s", trace);
    cr_expect_leq(count_of(trace, " seek("), 2 * 2);
    file_put(world.fs, file);
    inode_unref(world.fs->inodes, inode);
    world_abandon(&world);
    world_done(&world);
}

/* Requests are counted when they begin and when they end; if one were not, work in the background would either never go
 * on, or take no notice of users. */
Test(migrate, what_users_ask_for_is_counted_until_it_is_over)
{
    static struct world world;
    struct inode *inode;
    struct file *file;
    char bytes[10];

    cr_assert_eq(world_init(&world, 2, "stripe(64)", 0, 1), 0);
    cr_assert_eq(world_mount(&world), 0);
    file = make_file(&world, "A", 100, &inode);
    cr_expect_eq(atomic_load(&world.fs->n_io), 1);
    cr_assert_eq(file_read(world.fs, file, bytes, sizeof bytes, 50), 10);
    cr_assert_eq(file_read_subfile(world.fs, file, file->now->layout, 1, bytes, sizeof bytes, 5), 10);
    cr_assert_eq(file_write_subfile(world.fs, file, file->now->layout, 1, bytes, sizeof bytes, 5), 10);
    cr_expect_eq(atomic_load(&world.fs->n_io), 4);
    cr_expect_eq(atomic_load(&world.fs->n_io_over), 4);
    file_put(world.fs, file);
    inode_unref(world.fs->inodes, inode);
    world_abandon(&world);
    world_done(&world);
}

/* Where a window was a hole up to the end of the file, what is written there before the next step is still copied. */
Test(migrate, what_is_written_behind_a_hole_is_copied)
{
    static const struct cred cred = { .umask = 022 };
    static struct world world;
    struct layout_error error;
    struct chosen_layout choice;
    struct inode *inode;
    struct file *file;
    struct stat st;
    uint64_t number;
    char found[700];

    cr_assert_eq(world_init(&world, 2, "stripe(64)", 0, 1), 0);
    cr_assert_eq(world_mount(&world), 0);
    cr_assert_eq(tree_create(world.fs, inodes_root(world.fs->inodes), "f", 0644, &cred, &inode, &st, &file), 0);
    cr_assert_eq(file_truncate(world.fs, file, 100), 0);
    cr_assert_eq(layouts_add(world.fs->layouts, "stripe(7)", &choice.layout, &choice.rotates, &error), 0);
    cr_assert_eq(jobs_add(world.fs->jobs, inode, choice.layout, job_start(choice.rotates), 0, &world_asker, &number),
                 0);
    layouts_put(world.fs->layouts, choice.layout);
    cr_assert(jobs_step(world.fs->jobs), "it is prepared");
    cr_assert(jobs_step(world.fs->jobs), "the first window is copied");
    cr_assert_eq(file_write(world.fs, file, "behind", 6, 100), 6);
    cr_assert_eq(file_write(world.fs, file, "far behind", 10, 600), 10);
    world_finish_jobs(&world);
    cr_assert_eq(file_read(world.fs, file, found, sizeof found, 0), 610);
    cr_expect_arr_eq(found + 100, "behind", 6);
    cr_expect_arr_eq(found + 600, "far behind", 10);
    file_put(world.fs, file);
    inode_unref(world.fs->inodes, inode);
    world_abandon(&world);
    world_done(&world);
}

/* -- disks that become read-only meanwhile -- */

static void set_read_only(struct world *world, unsigned disk, bool read_only)
{
    sim_disk_read_only(sim_disk(world->sim, disk), read_only);
    room_ask(world->fs->room);
}

static struct job_view last_job(struct world *world)
{
    struct job_view view = { .number = 0 };
    struct inode *inode;

    while (jobs_next(world->fs->jobs, view.number, &view, &inode))
        inode_unref(world->fs->inodes, inode);
    return view;
}

static struct record record_of(struct world *world, struct file *file)
{
    struct record record;

    layouts_put(world->fs->layouts, file_look(world->fs, file, &record));
    return record;
}

static void expect_bytes(struct world *world, struct file *file)
{
    char found[1000];

    cr_assert_eq(file_read(world->fs, file, found, sizeof found, 0), 1000);
    for (size_t i = 0; i < sizeof found; i++)
        cr_assert_eq(found[i], 'x');
}

/* What is left of the old layout on a read-only disk is removed when the disk can be written again. */
Test(migrate, a_file_leaves_a_read_only_disk)
{
    static struct world world;
    struct inode *inode;
    struct file *file;
    uint64_t n_troubles;

    cr_assert_eq(world_init(&world, 3, "one on d1", 0, 1), 0);
    cr_assert_eq(world_mount(&world), 0);
    cr_assert_eq(volume_watch(world.fs->volume, 60, NULL), 0);
    file = make_file(&world, "A", 1000, &inode);
    cr_assert_eq(file_sync(world.fs, file, false), 0);
    set_read_only(&world, 1, true);
    migrate(&world, inode, "one on d2");
    cr_expect_eq(last_job(&world).state, JOB_DONE);
    cr_expect_eq(last_job(&world).error, -EROFS);
    expect_bytes(&world, file);
    n_troubles = atomic_load(&world.fs->volume->disk[1].watch->n_troubles);
    jobs_retry(world.fs->jobs);
    world_finish_jobs(&world);
    cr_expect_eq(atomic_load(&world.fs->volume->disk[1].watch->n_troubles), n_troubles, "it is not asked again");
    cr_expect_lt(record_of(&world, file).oldest_gen, record_of(&world, file).gen);
    set_read_only(&world, 1, false);
    jobs_retry(world.fs->jobs);
    world_finish_jobs(&world);
    cr_expect_eq(last_job(&world).state, JOB_DONE);
    cr_expect_eq(last_job(&world).error, 0);
    cr_expect_eq(record_of(&world, file).oldest_gen, record_of(&world, file).gen);
    expect_bytes(&world, file);
    file_put(world.fs, file);
    inode_unref(world.fs->inodes, inode);
    world_abandon(&world);
    world_done(&world);
}

Test(migrate, a_file_on_its_way_to_a_disk_that_becomes_read_only_stays)
{
    static struct world world;
    struct layout_error error;
    struct chosen_layout choice;
    struct inode *inode;
    struct file *file;
    uint64_t number;

    cr_assert_eq(world_init(&world, 3, "one on d1", 0, 1), 0);
    cr_assert_eq(world_mount(&world), 0);
    cr_assert_eq(volume_watch(world.fs->volume, 60, NULL), 0);
    file = make_file(&world, "A", 1000, &inode);
    cr_assert_eq(layouts_add(world.fs->layouts, "stripe(64) on d1,d2", &choice.layout, &choice.rotates, &error), 0);
    cr_assert_eq(jobs_add(world.fs->jobs, inode, choice.layout, 0, 0, &world_asker, &number), 0);
    cr_assert(jobs_step(world.fs->jobs), "it is prepared");
    cr_assert(jobs_step(world.fs->jobs), "something is copied");
    set_read_only(&world, 2, true);
    cr_assert_eq(jobs_order(world.fs->jobs, number, JOB_CANCEL), 0);
    world_finish_jobs(&world);
    cr_expect_eq(last_job(&world).state, JOB_CANCELLED);
    cr_expect_eq(jobs_add(world.fs->jobs, inode, choice.layout, 0, 0, &world_asker, &number), -EROFS,
                 "nor does it set out again");
    layouts_put(world.fs->layouts, choice.layout);
    expect_bytes(&world, file);
    set_read_only(&world, 2, false);
    jobs_retry(world.fs->jobs);
    world_finish_jobs(&world);
    cr_expect_eq(record_of(&world, file).target_flags, 0, "nothing is left of it");
    migrate(&world, inode, "stripe(64) on d1,d2");
    cr_expect_eq(last_job(&world).state, JOB_DONE);
    expect_bytes(&world, file);
    file_put(world.fs, file);
    inode_unref(world.fs->inodes, inode);
    world_abandon(&world);
    world_done(&world);
}

/* A job that was copied at a byte a second has to rest for hours. When it is cancelled, and the disk does not let go of
 * what it has copied at once, that is tried again soon all the same: whoever cancelled it waits for that. */
Test(migrate, a_slow_job_ends_soon_though_the_disk_has_refused_once)
{
    static struct world world;
    struct layout_error error;
    struct chosen_layout choice;
    struct inode *inode;
    struct file *file;
    uint64_t number, until;

    cr_assert_eq(world_init(&world, 2, "one on d0", 0, 1), 0);
    cr_assert_eq(world_mount(&world), 0);
    file = make_file(&world, "A", 1000, &inode);
    cr_assert_eq(layouts_add(world.fs->layouts, "one on d1", &choice.layout, &choice.rotates, &error), 0);
    cr_assert_eq(jobs_add(world.fs->jobs, inode, choice.layout, 0, 1, &world_asker, &number), 0);
    layouts_put(world.fs->layouts, choice.layout);
    cr_assert(jobs_step(world.fs->jobs), "it is prepared");
    cr_assert(jobs_step(world.fs->jobs), "something is copied");
    inode->job->rests_until = UINT64_MAX;
    cr_assert_not(jobs_step(world.fs->jobs), "it rests");
    sim_fail_calls(world.sim, &(struct sim_fault){ .at = world.sim->calls + 1,
                                                   .error = ETIMEDOUT,
                                                   .persistent = true,
                                                   .disk = 1,
                                                   .calls = SIM_MASK(SIM_UNLINK) });
    cr_assert_eq(jobs_order(world.fs->jobs, number, JOB_CANCEL), 0);
    cr_assert(jobs_step(world.fs->jobs));
    cr_assert_eq(last_job(&world).state, JOB_ENDS);
    sim_heal(world.sim);
    for (until = clock_ms() + 20000; last_job(&world).state == JOB_ENDS && clock_ms() < until;)
        (void) jobs_step(world.fs->jobs);
    cr_expect_eq(last_job(&world).state, JOB_CANCELLED);
    expect_bytes(&world, file);
    file_put(world.fs, file);
    inode_unref(world.fs->inodes, inode);
    world_abandon(&world);
    world_done(&world);
}

/* Each of these layouts takes a MiB: a job that waits or is paused has nothing of its file in memory. */
Test(migrate, jobs_that_do_not_run_take_no_memory)
{
    static struct world world;
    struct inode *inode[12];
    uint64_t number[ARRAY_SIZE(inode)];

    cr_assert_eq(world_init(&world, 3, "one on d1", 0, 1), 0);
    cr_assert_eq(world_mount(&world), 0);
    for (unsigned i = 0; i < ARRAY_SIZE(inode); i++) {
        char name[8], text[32];
        struct chosen_layout choice;
        struct layout_error error;

        snprintf(name, sizeof name, "f%u", i);
        snprintf(text, sizeof text, "stripe(%u,4096)", 4096 + i);
        file_put(world.fs, make_file(&world, name, 1000, &inode[i]));
        cr_assert_eq(layouts_add(world.fs->layouts, text, &choice.layout, &choice.rotates, &error), 0);
        cr_assert_eq(jobs_add(world.fs->jobs, inode[i], choice.layout, 0, 0, &world_asker, &number[i]), 0);
        layouts_put(world.fs->layouts, choice.layout);
    }
    cr_expect_lt(world.fs->layouts->n_bytes, UINT64_C(6) << 20, "they wait");
    for (unsigned i = 0; i < ARRAY_SIZE(inode); i++)
        cr_assert_eq(jobs_order(world.fs->jobs, number[i], JOB_PAUSE), 0);
    for (unsigned i = 0; i < ARRAY_SIZE(inode); i++)
        cr_assert(jobs_step(world.fs->jobs));
    cr_expect_eq(last_job(&world).state, JOB_PAUSED);
    cr_expect_lt(world.fs->layouts->n_bytes, UINT64_C(6) << 20, "they are paused");
    cr_assert_eq(tree_unlink(world.fs, inodes_root(world.fs->inodes), "f11"), 0);
    for (unsigned i = 0; i < ARRAY_SIZE(inode); i++) {
        inode_unref(world.fs->inodes, inode[i]);
        cr_assert_eq(jobs_order(world.fs->jobs, number[i], JOB_RESUME), 0);
    }
    world_finish_jobs(&world);
    cr_expect_eq(last_job(&world).state, JOB_CANCELLED, "its file is gone");
    for (unsigned i = 0; i + 1 < ARRAY_SIZE(inode); i++) {
        struct file *file;
        struct stat st;
        char name[8];

        snprintf(name, sizeof name, "f%u", i);
        cr_assert_eq(tree_lookup(world.fs, inodes_root(world.fs->inodes), name, &inode[i], &st), 0);
        cr_assert_eq(file_get(world.fs, inode[i], &file), 0);
        cr_expect_eq(file_weight(file), 4096, "%s lies as it was to", name);
        expect_bytes(&world, file);
        file_put(world.fs, file);
        inode_unref(world.fs->inodes, inode[i]);
    }
    world_abandon(&world);
    world_done(&world);
}
