/* SPDX-License-Identifier: MIT */
/* Which disks new files are spread over, and where they start. */
#include "test/core/world.h"

#include "fs/core/change/room_watch.h"
#include "fs/core/file/file.h"
#include "fs/core/tree/defaults.h"
#include "fs/core/tree/tree.h"
#include "fs/core/volume/room.h"
#include "fs/core/volume/space.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <string.h>

#define KIB UINT64_C(1024)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

/* -- how much is kept back -- */

struct reserve_case {
    char why[48];
    struct room_rule rule;
    uint64_t size;
    bool is_home;
    uint64_t want;
};

ParameterizedTestParameters(room, reserve)
{
    static struct reserve_case rows[] = {
        { "a twentieth of a large disk", { ROOM_USUAL, MIB }, 20 * GIB, false, GIB },
        { "16 units when that is more", { ROOM_USUAL, MIB }, 100 * MIB, false, 16 * MIB },
        { "no more than a quarter", { ROOM_USUAL, MIB }, 32 * MIB, false, 8 * MIB },
        { "small units", { ROOM_USUAL, 64 * KIB }, 10 * MIB, false, MIB },
        { "the home disk: twice that", { ROOM_USUAL, MIB }, 20 * GIB, true, 2 * GIB },
        { "the home disk: twice a quarter", { ROOM_USUAL, MIB }, 32 * MIB, true, 16 * MIB },
        { "what was asked for", { 3 * GIB, MIB }, 20 * GIB, false, 3 * GIB },
        { "no more than a quarter of it, too", { 3 * GIB, MIB }, 8 * GIB, false, 2 * GIB },
        { "none", { 0, MIB }, 20 * GIB, true, 0 },
        { "units beyond everything", { ROOM_USUAL, UINT64_MAX / 2 }, 8 * GIB, false, 2 * GIB },
        { "a disk without a size", { ROOM_USUAL, MIB }, 0, true, 0 },
    };

    return cr_make_param_array(struct reserve_case, rows, ARRAY_SIZE(rows));
}

ParameterizedTest(struct reserve_case *row, room, reserve)
{
    cr_expect_eq(room_reserve(&row->rule, row->size, row->is_home), row->want, "%s", row->why);
}

struct tight_case {
    char why[48];
    uint64_t reserve, size, free;
    bool was, want;
};

ParameterizedTestParameters(room, tight)
{
    static struct tight_case rows[] = {
        { "below the reserve", 10, 100, 9, false, true },
        { "at it", 10, 100, 10, false, false },
        { "out: above the reserve is not enough", 10, 100, 11, true, true },
        { "out: nor twice it", 10, 100, 20, true, true },
        { "out: more is", 10, 100, 21, true, false },
        { "a small home disk: twice a half is all", 50, 100, 76, true, false },
        { "a small home disk, three quarters", 50, 100, 75, true, true },
        { "nothing is kept back", 0, 100, 0, false, false },
        { "nothing, and full", 0, 100, 0, true, true },
        { "nothing, and not full", 0, 100, 1, true, false },
    };

    return cr_make_param_array(struct tight_case, rows, ARRAY_SIZE(rows));
}

ParameterizedTest(struct tight_case *row, room, tight)
{
    cr_expect_eq(room_is_tight(row->reserve, row->size, row->free, row->was), row->want, "%s", row->why);
}

/* -- what layouts mean then -- */

#define SIZE (64 * MIB) /* of each disk; 8 MiB are kept back, twice that at home */

static const struct cred somebody = { .umask = 022 };

static void begin(struct world *world, unsigned n_disks)
{
    cr_assert_eq(world_init(world, n_disks, "stripe(512K)", 0, 1), 0);
    world->reserve = ROOM_USUAL;
    for (unsigned i = 0; i < n_disks; i++)
        sim_disk_capacity(sim_disk(world->sim, i), SIZE);
    cr_assert_eq(world_mount(world), 0, "%s", world->why);
}

static void end(struct world *world)
{
    world_abandon(world);
    world_done(world);
}

/* Leaves so much free on a disk, as if somebody else had written there, or removed what he had. */
static void leave_free(struct world *world, unsigned disk, uint64_t mib)
{
    sim_disk_leave_free(sim_disk(world->sim, disk), mib * MIB);
}

static void note(struct world *world)
{
    struct statvfs st;

    cr_assert_eq(room_statfs(world->fs->room, NULL, &st), 0);
}

static void expect_means(struct world *world, const char *typed, const char *want)
{
    struct file_layout *layout;
    struct layout_error error;
    bool rotates;

    cr_assert_eq(layouts_plan(world->fs->layouts, typed, &layout, &rotates, &error), 0, "%s: %s", typed, error.why);
    cr_expect_str_eq(layout->layout->text, want, "%s is %s, not %s", typed, layout->layout->text, want);
    file_layout_free(layout);
}

Test(room, lists_that_nobody_typed_leave_out_full_disks)
{
    static struct world world;

    begin(&world, 4);
    expect_means(&world, "stripe(512K)", "stripe(512K) on d0-d3");
    leave_free(&world, 2, 7);
    note(&world);
    expect_means(&world, "stripe(512K)", "stripe(512K) on d0-d1,d3");
    expect_means(&world, "one on all", "one on d0-d1,d3");
    expect_means(&world, "stripe(512K,4)", "stripe(512K,4) on d0-d1,d3");
    expect_means(&world, "one on d2", "one on d2");
    expect_means(&world, "stripe(512K) on d3,d2", "stripe(512K) on d3,d2");
    leave_free(&world, 2, 15);
    note(&world);
    expect_means(&world, "one", "one on d0-d1,d3");
    leave_free(&world, 2, 17);
    leave_free(&world, 0, 15);
    note(&world);
    expect_means(&world, "one", "one on d1-d3");
    for (unsigned i = 0; i < 4; i++)
        leave_free(&world, i, 1);
    note(&world);
    expect_means(&world, "one", "one on d0-d3");
    leave_free(&world, 1, 30);
    note(&world);
    expect_means(&world, "stripe(512K)", "stripe(512K) on d1");
    for (unsigned i = 0; i < 4; i++)
        leave_free(&world, i, 60);
    note(&world);
    expect_means(&world, "stripe(512K)", "stripe(512K) on d0-d3");
    end(&world);
}

/* Two copies want two disks: where one alone has room, those that have none are in the list as well. */
Test(room, copies_want_two_disks)
{
    static struct world world;

    begin(&world, 4);
    expect_means(&world, "stripe(512K) copies 2", "stripe(512K) on d0-d3 copies 2");
    expect_means(&world, "one on all # so\n copies 2", "one on d0-d3 copies 2");
    expect_means(&world, "one # so\n copies 2", "one # so\n on d0-d3 copies 2");
    expect_means(&world, "one on d3,d1 copies 2", "one on d3,d1 copies 2");
    leave_free(&world, 2, 7);
    note(&world);
    expect_means(&world, "stripe(512K) copies 2", "stripe(512K) on d0-d1,d3 copies 2");
    leave_free(&world, 0, 7);
    leave_free(&world, 3, 7);
    note(&world);
    expect_means(&world, "stripe(512K) copies 1", "stripe(512K) on d1");
    expect_means(&world, "stripe(512K) copies 2", "stripe(512K) on d0-d3 copies 2");
    end(&world);
}

static void expect_refused(struct world *world, const char *typed, size_t column, const char *why)
{
    struct file_layout *layout = NULL;
    struct layout_error error;
    bool rotates;

    cr_expect_eq(layouts_plan(world->fs->layouts, typed, &layout, &rotates, &error), -ENODEV, "%s", typed);
    cr_expect_null(layout);
    cr_expect_eq(error.column, column, "%s: column %zu", typed, error.column);
    cr_expect_not_null(strstr(error.why, why), "%s: %s", typed, error.why);
}

Test(room, one_disk_has_no_place_for_two_copies)
{
    static struct world world;
    struct volume_error error;

    begin(&world, 1);
    expect_refused(&world, "stripe(512K) copies 2", 21,
                   "copies 2 puts each byte on two disks, and the volume has only");
    end(&world);
    begin(&world, 3);
    expect_refused(&world, "one on pool:none copies 2", 5, "no disk of the volume is in a pool");
    cr_assert_eq(volume_set_leaving(world.fs->volume, 1, true, &error), 0);
    expect_means(&world, "stripe(512K) copies 2", "stripe(512K) on d0,d2 copies 2");
    expect_means(&world, "one on d1,d2,d0,d0 copies 2", "one on d2,d0,d0 copies 2");
    expect_refused(&world, "one on d2,d1,d2 copies 2", 24, "the list names only one that stays");
    cr_assert_eq(volume_set_leaving(world.fs->volume, 2, true, &error), 0);
    expect_refused(&world, "one on all copies 2", 19, "the volume has only one that stays");
    end(&world);
}

/* -- making files -- */

struct made {
    char layout[64];
    uint32_t first; /* the disk that it starts on */
    uint64_t calls; /* to disks that making it took */
};

static void make(struct world *world, struct inode *dir, struct made *ret_made)
{
    static unsigned n;
    uint64_t before = world->sim->calls;
    struct file_layout *layout;
    struct record record;
    struct inode *inode;
    struct file *file;
    struct stat st;
    char name[16];

    snprintf(name, sizeof name, "f%u", n++);
    cr_assert_eq(tree_create(world->fs, dir, name, 0644, &somebody, &inode, &st, &file), 0);
    ret_made->calls = world->sim->calls - before;
    layout = file_look(world->fs, file, &record);
    snprintf(ret_made->layout, sizeof ret_made->layout, "%s", layout->layout->text);
    ret_made->first = file_layout_disk(layout, world->fs->volume->home, record.rotate, 0);
    cr_expect_eq(record.rotate, record.old_rotate);
    layouts_put(world->fs->layouts, layout);
    file_put(world->fs, file);
    inode_unref(world->fs->inodes, inode);
}

/* What the default of a directory above means is decided for each file that is made; no disk is asked, unless it means
 * other disks than before. */
Test(room, it_is_decided_when_a_file_is_made)
{
    static struct world world;
    struct inode *root, *dir;
    struct layout_error error;
    struct made usual, made;
    struct stat st;

    begin(&world, 3);
    root = inodes_root(world.fs->inodes);
    cr_assert_eq(tree_mkdir(world.fs, root, "x", 0755, &somebody, &dir, &st), 0);
    cr_assert_eq(defaults_set(world.fs, root, "stripe(1M)", &error), 0);
    make(&world, dir, &usual);
    make(&world, dir, &usual);
    cr_expect_str_eq(usual.layout, "stripe(1M) on d0-d2");
    leave_free(&world, 1, 2);
    make(&world, dir, &made);
    cr_expect_str_eq(made.layout, "stripe(1M) on d0-d2", "nobody has asked since");
    cr_expect_eq(made.calls, usual.calls);
    note(&world);
    make(&world, dir, &made);
    cr_expect_str_eq(made.layout, "stripe(1M) on d0,d2");
    make(&world, dir, &made);
    cr_expect_str_eq(made.layout, "stripe(1M) on d0,d2");
    cr_expect_eq(made.calls, usual.calls);
    leave_free(&world, 1, 40);
    note(&world);
    make(&world, dir, &made);
    cr_expect_str_eq(made.layout, "stripe(1M) on d0-d2");
    cr_expect_eq(made.calls, usual.calls, "that text was there already");
    inode_unref(world.fs->inodes, dir);
    end(&world);
}

/* Counts how many of 3000 files start on each disk, as parts of a thousand. */
static void count_starts(struct world *world, const char *typed, unsigned ret_n[static 4])
{
    struct file_layout *layout;
    struct layout_error error;
    bool rotates;

    cr_assert_eq(layouts_plan(world->fs->layouts, typed, &layout, &rotates, &error), 0);
    memset(ret_n, 0, 4 * sizeof ret_n[0]);
    for (uint64_t i = 0; i < 3000; i++) {
        uint16_t start = room_draw_start(world->fs->volume, layout, i * UINT64_C(0x2545f4914f6cdd1d));

        cr_assert_lt(start, layout->n_list);
        ret_n[layout->list[start]]++;
    }
    for (unsigned i = 0; i < 4; i++)
        ret_n[i] /= 3;
    file_layout_free(layout);
}

static void expect_about(const char *what, const unsigned n[static 4], unsigned a, unsigned b, unsigned c, unsigned d)
{
    const unsigned want[] = { a, b, c, d };

    for (unsigned i = 0; i < 4; i++)
        cr_expect(n[i] + 40 >= want[i] && n[i] <= want[i] + 40 && (want[i] > 0 || n[i] == 0),
                  "%s: disk %u is the first of %u in 1000, not of %u", what, i, n[i], want[i]);
}

Test(room, more_files_start_where_there_is_more_room)
{
    static struct world world;
    unsigned n[4];

    begin(&world, 4);
    count_starts(&world, "one", n);
    expect_about("even", n, 250, 250, 250, 250);
    leave_free(&world, 0, 30);
    leave_free(&world, 1, 10);
    leave_free(&world, 2, 40);
    leave_free(&world, 3, 20);
    note(&world);
    count_starts(&world, "one", n);
    expect_about("one", n, 300, 100, 400, 200);
    count_starts(&world, "stripe(1M)", n);
    expect_about("stripe", n, 300, 100, 400, 200);
    count_starts(&world, "stripe(1M,2) on d0-d3", n); /* the smaller disk of each pair counts: 10, 10, 20, 20 */
    expect_about("two of four", n, 167, 167, 333, 333);
    leave_free(&world, 1, 5);
    note(&world);
    count_starts(&world, "one on d0-d3", n);
    expect_about("one that is left out", n, 333, 0, 444, 222);
    for (unsigned i = 0; i < 4; i++)
        leave_free(&world, i, i == 1 ? 2 : i == 3 ? 1 : 0);
    note(&world);
    count_starts(&world, "one", n);
    expect_about("all are tight, two are full", n, 0, 667, 0, 333);
    leave_free(&world, 1, 0);
    leave_free(&world, 3, 0);
    note(&world);
    count_starts(&world, "one", n);
    expect_about("all are full", n, 250, 250, 250, 250);
    end(&world);
}

/* Where a file starts is said by its record alone: a new mount, with other disks full, finds each byte where it was. */
Test(room, files_stay_where_they_started)
{
    static struct world world;
    struct made made, found;
    struct file_layout *layout;
    struct record record;
    struct inode *inode;
    struct file *file;
    struct stat st;

    begin(&world, 4);
    for (unsigned i = 0; i < 4; i++)
        leave_free(&world, i, i == 2 ? 60 : 4);
    note(&world);
    cr_assert_eq(tree_create(world.fs, inodes_root(world.fs->inodes), "kept", 0644, &somebody, &inode, &st, &file), 0);
    layout = file_look(world.fs, file, &record);
    made.first = file_layout_disk(layout, world.fs->volume->home, record.rotate, 0);
    layouts_put(world.fs->layouts, layout);
    file_put(world.fs, file);
    inode_unref(world.fs->inodes, inode);
    cr_expect_eq(made.first, 2);
    for (unsigned i = 0; i < 4; i++)
        leave_free(&world, i, i == 1 ? 60 : 4);
    world_unmount(&world);
    cr_assert_eq(world_mount(&world), 0, "%s", world.why);
    cr_assert_eq(tree_lookup(world.fs, inodes_root(world.fs->inodes), "kept", &inode, &st), 0);
    cr_assert_eq(file_get(world.fs, inode, &file), 0);
    layout = file_look(world.fs, file, &record);
    found.first = file_layout_disk(layout, world.fs->volume->home, record.rotate, 0);
    layouts_put(world.fs->layouts, layout);
    file_put(world.fs, file);
    inode_unref(world.fs->inodes, inode);
    cr_expect_eq(found.first, made.first);
    end(&world);
}

/* -- what df says -- */

struct df_case {
    char why[48], layout[40];
    uint32_t n; /* so many disks, one for each element, whose copy is on the next */
    uint64_t avail[4], want;
};

ParameterizedTestParameters(room, df)
{
    static struct df_case rows[] = {
        { "alike, whole units", "stripe(1M,3)", 3, { 9 * MIB, 9 * MIB, 9 * MIB }, 27 * MIB },
        { "the first is the smallest", "stripe(1M,3)", 3, { 9 * MIB, 40 * MIB, 30 * MIB }, 27 * MIB },
        { "it ends in the midst of a unit",
          "stripe(1M,3)",
          3,
          { 9 * MIB - 4096, 40 * MIB, 30 * MIB },
          25 * MIB - 4096 },
        { "the last one does", "stripe(1M,3)", 3, { 40 * MIB, 30 * MIB, 9 * MIB - 4096 }, 27 * MIB - 4096 },
        { "less than a unit", "stripe(1M,3)", 3, { 300 * KIB, 40 * MIB, 30 * MIB }, 300 * KIB },
        { "nothing on the second", "stripe(1M,3)", 3, { 40 * MIB, 0, 30 * MIB }, MIB },
        { "nothing at all", "stripe(1M,3)", 3, { 0, 0, 0 }, 0 },
        { "small units are as good as bytes", "stripe(4K,2)", 2, { 10 * MIB, 20 * MIB }, 20 * MIB },
        { "whole blocks", "stripe(1K,2)", 2, { 8 * KIB, 8 * KIB + 4095 }, 16 * KIB },
        { "units of their own", "var(1M,3M)", 2, { 10 * MIB, 12 * MIB }, 17 * MIB },
        { "one disk", "one", 1, { 7 * MIB }, 7 * MIB },
        { "two copies", "stripe(1M,3) copies 2", 3, { 18 * MIB, 18 * MIB, 18 * MIB }, 27 * MIB },
        { "two copies, one disk is small", "stripe(1M,2) copies 2", 2, { 30 * MIB, 9 * MIB }, 9 * MIB },
        { "two copies in whole blocks", "stripe(1K,2) copies 2", 2, { 16 * KIB + 4095, 16 * KIB }, 16 * KIB },
        { "two copies of units of their own", "var(1M,3M) copies 2", 2, { 10 * MIB, 12 * MIB }, 10 * MIB },
        { "huge disks", "stripe(1M,2)", 2, { UINT64_C(1) << 61, UINT64_C(1) << 61 }, FALLS_LIMIT },
    };

    return cr_make_param_array(struct df_case, rows, ARRAY_SIZE(rows));
}

/* With each element on a disk of its own, the file can take the least of what its disks allow. */
ParameterizedTest(struct df_case *row, room, df)
{
    cleanup(layout_freep) struct layout *layout = NULL;
    struct layout_error error;
    uint64_t least = UINT64_MAX;
    uint32_t pool[8];

    cr_assert_eq(layout_parse(row->layout, strlen(row->layout), row->n, &layout, &error), 0, "%s", error.why);
    for (uint32_t i = 0; i < 2 * row->n; i++)
        pool[i] = (i + i / row->n) % row->n;
    for (uint32_t i = 0; i < row->n; i++)
        least = MIN(least, space_of_pool(layout, pool, i, row->avail[i], 4096));
    cr_expect_eq(least, row->want, "%s: %" PRIu64, row->why, least);
}

/* Expects that df shows room for one file of so many MiB, but for half a MiB: texts of new layouts take some KiB. */
static void expect_one_file(struct world *world, uint64_t mib, const char *why)
{
    struct statvfs st;
    uint64_t bytes;

    cr_assert_eq(room_statfs(world->fs->room, NULL, &st), 0);
    bytes = (uint64_t) st.f_bavail * st.f_frsize;
    cr_expect(bytes <= mib * MIB && bytes + MIB / 2 >= mib * MIB, "%s: %" PRIu64 " KiB, not %" PRIu64 " MiB", why,
              bytes / KIB, mib);
}

Test(room, df_says_what_a_file_made_now_can_take)
{
    static struct world world;
    struct statvfs st;

    begin(&world, 3);
    leave_free(&world, 0, 40);
    leave_free(&world, 1, 9);
    leave_free(&world, 2, 30);
    expect_one_file(&world, 27, "three disks");
    leave_free(&world, 1, 1);
    expect_one_file(&world, 60, "without the one that is nearly full");
    leave_free(&world, 0, 1);
    expect_one_file(&world, 30, "without two that are");
    leave_free(&world, 2, 2);
    expect_one_file(&world, 3, "all are in");
    sim_disk_leave_free(sim_disk(world.sim, 1), MIB - 4096);
    cr_assert_eq(room_statfs(world.fs->room, NULL, &st), 0);
    cr_expect_eq((uint64_t) st.f_bavail * st.f_frsize, 2 * MIB - 4096, "the second ends it in its first unit");
    end(&world);
}

Test(room, df_counts_both_copies)
{
    static struct world world;
    struct chosen_layout choice;
    struct layout_error error;
    struct statvfs st;

    begin(&world, 3);
    leave_free(&world, 0, 40);
    leave_free(&world, 1, 18);
    leave_free(&world, 2, 30);
    note(&world);
    cr_assert_eq(layouts_plan(world.fs->layouts, "stripe(1M) copies 2", &choice.layout, &choice.rotates, &error), 0);
    cr_assert_eq(space_of_chosen(world.fs->volume, &choice, &st, NULL), 0);
    cr_expect_eq((uint64_t) st.f_bavail * st.f_frsize / MIB, 27, "not %" PRIu64, (uint64_t) st.f_bavail);
    file_layout_free(choice.layout);
    cr_assert_eq(layouts_plan(world.fs->layouts, "one copies 2", &choice.layout, &choice.rotates, &error), 0);
    cr_assert_eq(space_of_chosen(world.fs->volume, &choice, &st, NULL), 0);
    cr_expect_eq((uint64_t) st.f_bavail * st.f_frsize / MIB, 18, "not %" PRIu64, (uint64_t) st.f_bavail);
    file_layout_free(choice.layout);
    end(&world);
}

/* -- disks that nobody may write to -- */

static void set_read_only(struct world *world, unsigned disk, bool read_only)
{
    sim_disk_read_only(sim_disk(world->sim, disk), read_only);
}

static void begin_watched(struct world *world, unsigned n_disks)
{
    begin(world, n_disks);
    cr_assert_eq(volume_watch(world->fs->volume, 60, NULL), 0);
    note(world);
}

Test(room, read_only_disks_are_left_out_until_they_can_be_written)
{
    static struct world world;
    unsigned n[4];

    begin_watched(&world, 4);
    set_read_only(&world, 2, true);
    note(&world);
    expect_means(&world, "stripe(512K)", "stripe(512K) on d0-d1,d3");
    expect_means(&world, "one on d2", "one on d2");
    count_starts(&world, "one on d0-d3", n);
    expect_about("a list", n, 333, 333, 0, 333);
    for (unsigned i = 0; i < 4; i++)
        leave_free(&world, i, i == 2 ? 60 : 2);
    note(&world);
    expect_means(&world, "stripe(512K)", "stripe(512K) on d0-d1,d3");
    for (unsigned i = 0; i < 4; i++)
        leave_free(&world, i, 60);
    note(&world);
    set_read_only(&world, 2, false);
    expect_means(&world, "stripe(512K)", "stripe(512K) on d0-d1,d3");
    note(&world);
    expect_means(&world, "stripe(512K)", "stripe(512K) on d0-d3");
    end(&world);
}

/* A refusal as read-only that one request has met counts for all that follow: nobody has to ask the disk first. */
Test(room, one_refusal_is_enough)
{
    static struct world world;
    struct inode *root;
    struct layout_error error;
    struct made made;

    begin_watched(&world, 3);
    root = inodes_root(world.fs->inodes);
    cr_assert_eq(defaults_set(world.fs, root, "stripe(1M)", &error), 0);
    make(&world, root, &made);
    cr_expect_str_eq(made.layout, "stripe(1M) on d0-d2");
    set_read_only(&world, 1, true);
    cr_expect_eq(disk_call(&world.fs->volume->disk[1], mkdir, world.fs->volume->disk[1].root, "x", 0700), -EROFS);
    make(&world, root, &made);
    cr_expect_str_eq(made.layout, "stripe(1M) on d0,d2");
    end(&world);
}

/* A read-only disk is asked each second whether it can be written: its answer is not counted as a trouble each time. */
Test(room, asking_whether_a_disk_can_be_written_is_no_trouble)
{
    static struct world world;

    begin_watched(&world, 2);
    set_read_only(&world, 1, true);
    note(&world);
    note(&world);
    cr_expect(disk_is_read_only(&world.fs->volume->disk[1]));
    cr_expect_eq(atomic_load(&world.fs->volume->disk[1].watch->n_troubles), 0);
    end(&world);
}

Test(room, df_promises_nothing_of_read_only_disks)
{
    static struct world world;
    struct layout_error error;
    struct statvfs before, st;

    begin_watched(&world, 3);
    for (unsigned i = 0; i < 3; i++)
        leave_free(&world, i, 40);
    expect_one_file(&world, 120, "three disks");
    cr_assert_eq(room_statfs(world.fs->room, NULL, &before), 0);
    set_read_only(&world, 1, true);
    expect_one_file(&world, 80, "two of them can be written");
    cr_assert_eq(room_statfs(world.fs->room, NULL, &st), 0);
    cr_expect_eq((before.f_blocks - st.f_blocks) * UINT64_C(4096) / MIB, 40);
    cr_expect_eq(st.f_blocks - st.f_bfree, before.f_blocks - before.f_bfree, "what is there is there");
    set_read_only(&world, 1, false);
    cr_assert_eq(defaults_set(world.fs, inodes_root(world.fs->inodes), "one on d1", &error), 0);
    expect_one_file(&world, 40, "a disk that is named");
    set_read_only(&world, 1, true);
    expect_one_file(&world, 0, "and is read-only");
    end(&world);
}

Test(room, df_promises_nothing_where_no_name_can_be_made)
{
    static struct world world;
    struct statvfs st;

    begin_watched(&world, 3);
    set_read_only(&world, 0, true);
    expect_one_file(&world, 0, "the home disk is read-only");
    cr_assert_eq(room_statfs(world.fs->room, NULL, &st), 0);
    cr_expect_eq(st.f_favail + st.f_ffree, 0);
    set_read_only(&world, 0, false);
    leave_free(&world, 0, 0);
    expect_one_file(&world, 0, "the home disk is full");
    cr_assert_eq(room_statfs(world.fs->room, NULL, &st), 0);
    cr_expect_eq(st.f_favail + st.f_ffree, 0);
    leave_free(&world, 0, 40);
    cr_assert_eq(room_statfs(world.fs->room, NULL, &st), 0);
    cr_expect_gt(st.f_bavail, 0);
    cr_expect_gt(st.f_favail, 0);
    end(&world);
}

/* -- texts of layouts -- */

static bool has_text(struct world *world, unsigned disk, const struct file_layout *layout)
{
    const struct disk *one = &world->fs->volume->disk[disk];
    char path[LAYOUT_PATH];
    struct stat st;

    layouts_text_path(layout->hash, path);
    return disk_call(one, stat, one->root, path, &st) == 0;
}

Test(room, a_text_needs_room_on_the_disks_it_names_alone)
{
    static struct world world;
    struct file_layout *layout, *found;
    struct layout_error error;
    bool rotates;

    begin_watched(&world, 3);
    leave_free(&world, 0, 0);
    note(&world);
    cr_assert_eq(layouts_add(world.fs->layouts, "stripe(33K)", &layout, &rotates, &error), 0, "the home disk is full");
    cr_expect_str_eq(layout->layout->text, "stripe(33K) on d1-d2");
    cr_expect(!has_text(&world, 0, layout));
    cr_expect(has_text(&world, 1, layout) && has_text(&world, 2, layout));
    cr_assert_eq(layouts_get(world.fs->layouts, layout->hash, &found), 0);
    layouts_put(world.fs->layouts, found);
    layouts_put(world.fs->layouts, layout);
    cr_expect_eq(layouts_add(world.fs->layouts, "stripe(34K) on d0", &layout, &rotates, &error), -ENOSPC);
    end(&world);
}

/* A disk that has become full since the disks were last asked is found to be full when a text is added. */
Test(room, a_disk_that_was_filled_a_moment_ago_keeps_no_text_away)
{
    static struct world world;
    struct inode *root;
    struct layout_error error;
    struct made made;

    begin_watched(&world, 3);
    root = inodes_root(world.fs->inodes);
    leave_free(&world, 1, 0);
    cr_assert_eq(defaults_set(world.fs, root, "stripe(33K)", &error), 0);
    make(&world, root, &made);
    cr_expect_str_eq(made.layout, "stripe(33K) on d0,d2");
    end(&world);
}
