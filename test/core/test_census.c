/* SPDX-License-Identifier: MIT */
/* A census tells of every stub and copy, or it fails and says where: no disk call that fails, no damaged record, no
 * missing disk is passed over. */
#include "test/core/world.h"

#include "fs/core/file/file.h"
#include "fs/core/stub/census.h"
#include "fs/core/tree/tree.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static const struct cred root = { .umask = 022 };

struct told {
    unsigned n_records, n_copies;
};

static int note_record(void *arg, const struct record *record)
{
    struct told *told = arg;

    told->n_records += record->gen == 0;
    return 0;
}

static int note_copy(void *arg, const struct copy *copy)
{
    struct told *told = arg;

    told->n_copies += copy->record.gen == 0 && copy->path != NULL;
    return 0;
}

static int take(struct world *world, struct told *ret_told, struct volume_error *ret_error)
{
    const struct census census = { note_record, note_copy, ret_told };

    *ret_told = (struct told){ 0 };
    return census_take(world->fs->volume, &census, ret_error);
}

static void make(struct world *world, struct inode *dir, const char *name, struct file **ret_file)
{
    struct inode *inode;
    struct stat st;

    cr_assert_eq(tree_create(world->fs, dir, name, 0644, &root, &inode, &st, ret_file), 0);
    cr_assert_eq(file_write(world->fs, *ret_file, "some bytes", 10, 0), 10);
    inode_unref(world->fs->inodes, inode);
}

/* Makes three files: the second has two names, one of them in a directory; the third has lost its name, and is in
 * use. */
static struct file *make_files(struct world *world)
{
    struct inode *top, *dir, *inode;
    struct file *file;
    struct stat st;

    cr_assert_eq(world_init(world, 2, "stripe(4)", 0, 1), 0);
    cr_assert_eq(world_mount(world), 0);
    top = inodes_root(world->fs->inodes);
    make(world, top, "one", &file);
    file_put(world->fs, file);
    make(world, top, "two", &file);
    file_put(world->fs, file);
    cr_assert_eq(tree_mkdir(world->fs, top, "dir", 0755, &root, &dir, &st), 0);
    cr_assert_eq(tree_lookup(world->fs, top, "two", &inode, &st), 0);
    cr_assert_eq(tree_link(world->fs, inode, dir, "second", &st), 0);
    inode_unref(world->fs->inodes, inode);
    inode_unref(world->fs->inodes, dir);
    make(world, top, "gone", &file);
    cr_assert_eq(tree_unlink(world->fs, top, "gone"), 0);
    return file;
}

static void end(struct world *world, struct file *file)
{
    file_put(world->fs, file);
    cr_expect_eq(world->why[0], 0, "%s", world->why);
    world_abandon(world);
    world_done(world);
}

Test(census, tells_of_all)
{
    static struct world world;
    struct volume_error error;
    struct told told;
    struct file *file = make_files(&world);

    cr_expect_eq(take(&world, &told, &error), 0, "%s", error.why);
    cr_expect_eq(told.n_records, 4, "three names in ns and one in todo, not %u", told.n_records);
    cr_expect_eq(told.n_copies, 2, "those that were closed, not %u", told.n_copies);
    end(&world, file);
}

Test(census, is_whole_or_fails)
{
    static struct world world;
    struct volume_error error;
    struct told told;
    struct file *file = make_files(&world);
    uint64_t n_calls = world.sim->calls;

    cr_assert_eq(take(&world, &told, &error), 0, "%s", error.why);
    n_calls = world.sim->calls - n_calls;
    for (uint64_t i = 1; i <= n_calls; i++) {
        int r;

        sim_fail(world.sim, world.sim->calls + i, EIO, false, -1);
        r = take(&world, &told, &error);
        sim_heal(world.sim);
        cr_expect(r == -EIO && error.why[0] != 0, "call %" PRIu64 " fails: %d, %s", i, r, error.why);
    }
    cr_expect_geq(n_calls, 20, "so many calls fail: %" PRIu64, n_calls);
    end(&world, file);
}

Test(census, a_damaged_record)
{
    static struct world world;
    struct volume_error error;
    struct told told;
    struct file *file = make_files(&world);

    cr_assert_eq(sim_flip_xattr(sim_disk(world.sim, 0), ".fallsfs/ns/dir/second", RECORD_XATTR, 1000), 0);
    cr_expect_eq(take(&world, &told, &error), -EUCLEAN);
    cr_expect(strstr(error.why, "ns/two is damaged") != NULL || strstr(error.why, "ns/dir/second is damaged") != NULL,
              "%s", error.why);
    end(&world, file);
}

Test(census, a_missing_disk)
{
    static struct world world;
    struct volume_error error;
    struct told told;
    struct file *file = make_files(&world);
    struct disk *disk = &world.fs->volume->disk[1];
    int was = atomic_exchange(&disk->root, -1);

    cr_expect_eq(take(&world, &told, &error), -ENODEV);
    cr_expect(strstr(error.why, "d1 is missing") != NULL, "%s", error.why);
    disk->standing = DISK_GONE;
    cr_expect_eq(take(&world, &told, &error), 0, "%s", error.why);
    disk->standing = DISK_IN;
    atomic_store(&disk->root, was);
    end(&world, file);
}
