/* SPDX-License-Identifier: MIT */
/* Layouts that directories give to what is made in them. */
#include "test/core/world.h"

#include "fs/core/file/file.h"
#include "fs/core/tree/defaults.h"
#include "fs/core/tree/tree.h"
#include "fs/core/volume/layouts_known.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const struct cred somebody = { .umask = 022 };

static void begin(struct world *world)
{
    cr_assert_eq(world_init(world, 3, "stripe(64)", 0, 1), 0);
    cr_assert_eq(world_mount(world), 0, "%s", world->why);
}

static void end(struct world *world)
{
    world_abandon(world);
    world_done(world);
}

static struct inode *make_dir(struct world *world, struct inode *parent, const char *name)
{
    struct inode *inode;
    struct stat st;

    cr_assert_eq(tree_mkdir(world->fs, parent, name, 0755, &somebody, &inode, &st), 0);
    return inode;
}

static struct inode *find(struct world *world, struct inode *parent, const char *name)
{
    struct inode *inode;
    struct stat st;

    cr_assert_eq(tree_lookup(world->fs, parent, name, &inode, &st), 0);
    return inode;
}

/* Makes a file, and returns how many calls to disks that took; *ret_layout is its layout. */
static uint64_t make_file(struct world *world, struct inode *dir, const char *name, char ret_layout[static 64])
{
    uint64_t before = world->sim->calls, calls;
    struct file_layout *layout;
    struct record record;
    struct inode *inode;
    struct file *file;
    struct stat st;

    cr_assert_eq(tree_create(world->fs, dir, name, 0644, &somebody, &inode, &st, &file), 0);
    calls = world->sim->calls - before;
    layout = file_look(world->fs, file, &record);
    snprintf(ret_layout, 64, "%s", layout->layout->text);
    layouts_put(world->fs->layouts, layout);
    file_put(world->fs, file);
    inode_unref(world->fs->inodes, inode);
    return calls;
}

static void set(struct world *world, struct inode *dir, const char *text)
{
    struct layout_error error;

    cr_assert_eq(defaults_set(world->fs, dir, text, &error), 0, "%s: %s", text, error.why);
}

/* Making a file takes the same calls deep below a directory with a default as where no directory has one. */
Test(defaults, making_files_asks_no_disk_for_them)
{
    static struct world world;
    struct inode *at[6], *root;
    uint64_t usual, first;
    char text[64], name[16];

    begin(&world);
    root = inodes_root(world.fs->inodes);
    for (size_t i = 0; i < ARRAY_SIZE(at); i++)
        at[i] = make_dir(&world, i > 0 ? at[i - 1] : root, "x");
    (void) make_file(&world, at[5], "warm", text);
    usual = make_file(&world, at[5], "usual", text);
    cr_expect_str_eq(text, "stripe(64) on d0-d2");
    set(&world, at[0], "one on d1");
    cr_expect_eq(make_file(&world, at[5], "inherits", text), usual);
    cr_expect_str_eq(text, "one on d1");
    set(&world, at[3], "stripe(7,2)");
    cr_expect_eq(make_file(&world, at[5], "nearer", text), usual);
    cr_expect_str_eq(text, "stripe(7,2) on d0-d2");
    cr_expect_eq(defaults_remove(world.fs, at[3]), 0);
    cr_expect_eq(make_file(&world, at[5], "again", text), usual);
    cr_expect_str_eq(text, "one on d1");
    for (size_t i = 0; i < ARRAY_SIZE(at); i++)
        inode_unref(world.fs->inodes, at[i]);

    /* After a mount each directory is asked for its default once. */
    world_unmount(&world);
    cr_assert_eq(world_mount(&world), 0);
    at[0] = inodes_root(world.fs->inodes);
    inode_ref(world.fs->inodes, at[0]);
    for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
        struct inode *next = find(&world, at[0], "x");

        inode_unref(world.fs->inodes, at[0]);
        at[0] = next;
    }
    first = make_file(&world, at[0], "first", text);
    cr_expect_gt(first, usual);
    cr_expect_str_eq(text, "one on d1");
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "later%d", i);
        cr_expect_eq(make_file(&world, at[0], name, text), usual);
    }
    inode_unref(world.fs->inodes, at[0]);
    end(&world);
}

/* A short text means a MiB. However many directories have one of their own, memory has a bound, and each gives its
 * files what it says. */
Test(defaults, many_that_mean_much_are_forgotten_and_found_again)
{
    static struct world world;
    struct inode *dir[40];
    char text[64], want[64], name[16];
    uint64_t bytes = 0;

    begin(&world);
    for (unsigned i = 0; i < ARRAY_SIZE(dir); i++) {
        snprintf(name, sizeof name, "dir%u", i);
        snprintf(text, sizeof text, "stripe(%u,4096)", 4096 + i);
        dir[i] = make_dir(&world, inodes_root(world.fs->inodes), name);
        set(&world, dir[i], text);
        bytes = MAX(bytes, world.fs->layouts->n_bytes);
    }
    cr_expect(bytes > INODES_OWN_BYTES / 2 && bytes < INODES_OWN_BYTES + (UINT64_C(6) << 20), "%" PRIu64, bytes);
    for (unsigned i = 0; i < ARRAY_SIZE(dir); i++) {
        snprintf(want, sizeof want, "stripe(%u,4096) on d0-d2", 4096 + i);
        (void) make_file(&world, dir[i], "file", text);
        cr_expect_str_eq(text, want);
        cr_expect_lt(world.fs->layouts->n_bytes, INODES_OWN_BYTES + (UINT64_C(6) << 20));
        inode_unref(world.fs->inodes, dir[i]);
    }
    end(&world);
}

/* A default that names a disk which is not there, or is damaged, counts as none. */
Test(defaults, what_makes_no_sense_does_not_count)
{
    static const char *const bad[] = { "one on d3", "stripe(", "" };
    static struct world world;
    struct inode *dir;
    char text[64];

    begin(&world);
    set(&world, inodes_root(world.fs->inodes), "stripe(9)");
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        char name[16];

        snprintf(name, sizeof name, "d%zu", i);
        dir = make_dir(&world, inodes_root(world.fs->inodes), name);
        cr_assert_eq(tree_set_text(world.fs, dir, "layout", bad[i]), 0);
        inode_unref(world.fs->inodes, dir);
    }
    world_unmount(&world);
    cr_assert_eq(world_mount(&world), 0);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        char name[16];

        snprintf(name, sizeof name, "d%zu", i);
        dir = find(&world, inodes_root(world.fs->inodes), name);
        (void) make_file(&world, dir, "f", text);
        cr_expect_str_eq(text, "stripe(9) on d0-d2", "'%s' gives %s", bad[i], text);
        inode_unref(world.fs->inodes, dir);
    }
    end(&world);
}

Test(defaults, disks_that_are_away_take_none)
{
    static struct world world;
    struct inode *root;
    struct layout_error error = { 0 };
    int fd;

    begin(&world);
    root = inodes_root(world.fs->inodes);
    fd = world.fs->volume->disk[1].root;
    world.fs->volume->disk[1].root = -1;
    cr_expect_eq(defaults_set(world.fs, root, "one on d1", &error), -ENXIO);
    cr_expect(strncmp(error.why, "disk d1 is offline", 18) == 0, "%s", error.why);
    cr_expect_eq(defaults_set(world.fs, root, "{d1:(0,0,2,1);d2:(1,1,2,1)}", &error), -ENXIO);
    cr_expect_eq(defaults_set(world.fs, root, "one on d5", &error), -ENODEV);
    cr_expect_eq(defaults_set(world.fs, root, "one on d2", &error), 0);
    world.fs->volume->disk[1].root = fd;
    end(&world);
}
