/* SPDX-License-Identifier: MIT */
/* Files that lose names while somebody uses them, on home disks that know files without a name and on those that do
 * not, as NFS. */
#include "test/core/world.h"

#include "fs/core/file.h"
#include "fs/core/tree.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>

static const struct cred root = { .umask = 022 };

struct home {
    char what[24];
    unsigned lacks;
};

static struct criterion_test_params homes(void)
{
    static struct home home[] = { { "local", 0 }, { "NFS", SIM_LACKS_TMPFILE } };

    return cr_make_param_array(struct home, home, ARRAY_SIZE(home));
}

static void begin(struct world *world, const struct home *home)
{
    cr_assert_eq(world_init(world, 2, "stripe(64)", home->lacks, 1), 0);
    cr_assert_eq(world_mount(world), 0, "%s", world->why);
}

static void end(struct world *world)
{
    cr_expect_eq(world->sim->n_silly, 0);
    world_abandon(world);
    world_done(world);
}

static struct inode *top(const struct world *world)
{
    return inodes_root(world->fs->inodes);
}

static struct inode *create(struct world *world, const char *name, struct file **ret_file)
{
    struct inode *inode;
    struct stat st;

    cr_assert_eq(tree_create(world->fs, top(world), name, 0644, &root, &inode, &st, ret_file), 0);
    return inode;
}

/* Until no descriptor is left of those that may be closed. */
static void use_many(struct world *world)
{
    struct inode *inode[40];

    for (size_t i = 0; i < ARRAY_SIZE(inode); i++) {
        struct stat st;
        char name[16];

        snprintf(name, sizeof name, "other%zu", i);
        cr_assert_eq(tree_mkdir(world->fs, top(world), name, 0755, &root, &inode[i], &st), 0);
        cr_assert_eq(tree_stat(world->fs, inode[i], &st), 0);
    }
    for (size_t i = 0; i < ARRAY_SIZE(inode); i++)
        inode_unref(world->fs->inodes, inode[i]);
}

static void expect_links(struct world *world, struct inode *inode, nlink_t n)
{
    struct stat st;

    cr_assert_eq(tree_stat(world->fs, inode, &st), 0);
    cr_expect_eq(st.st_nlink, n, "%lu links, not %lu", (unsigned long) st.st_nlink, (unsigned long) n);
}

static void expect_bytes(struct world *world, const char *name, const char *bytes)
{
    char found[64] = "";
    struct inode *inode;
    struct file *file;
    struct stat st;

    cr_assert_eq(tree_lookup(world->fs, top(world), name, &inode, &st), 0);
    cr_assert_eq(file_get(world->fs, inode, &file), 0);
    cr_expect_geq(file_read(world->fs, file, found, sizeof found - 1, 0), 0);
    cr_expect_str_eq(found, bytes);
    file_put(world->fs, file);
    inode_unref(world->fs->inodes, inode);
}

/* Names in a directory of the home disk. */
static int n_names(struct world *world, int dir)
{
    _Alignas(struct dirent64) char buf[4096];
    struct sim_disk *disk = sim_disk(world->sim, 0);
    int fd = sim_ops.open(disk, dir, ".", O_RDONLY | O_DIRECTORY, 0), n_found = 0;
    ssize_t n = sim_ops.read_dir(disk, fd, buf, sizeof buf);

    cr_assert_gt(n, 0);
    for (ssize_t at = 0; at < n; at += ((const struct dirent64 *) (const void *) (buf + at))->d_reclen)
        n_found++;
    sim_ops.close(disk, fd);
    return n_found - 2; /* . and .. */
}

ParameterizedTestParameters(names, one_of_two_goes)
{
    return homes();
}

/* The name that goes is the one the file in use is known by. */
ParameterizedTest(struct home *home, names, one_of_two_goes)
{
    static struct world world;
    struct inode *inode;
    struct file *file;
    struct stat st;

    begin(&world, home);
    inode = create(&world, "first", &file);
    cr_assert_eq(tree_link(world.fs, inode, top(&world), "second", &st), 0);
    cr_assert_eq(file_write(world.fs, file, "before", 6, 0), 6);
    cr_assert_eq(tree_unlink(world.fs, top(&world), "second"), 0);
    use_many(&world);
    expect_links(&world, inode, 1);
    cr_expect_eq(file_write(world.fs, file, " and after", 10, 6), 10);
    cr_expect_eq(file_sync(world.fs, file, false), 0);
    file_put(world.fs, file);
    inode_unref(world.fs->inodes, inode);
    expect_bytes(&world, "first", "before and after");
    cr_expect_eq(n_names(&world, world.fs->volume->todo), 0);
    world_unmount(&world);
    cr_assert_eq(world_mount(&world), 0);
    expect_bytes(&world, "first", "before and after");
    end(&world);
}

ParameterizedTestParameters(names, two_of_three_go)
{
    return homes();
}

/* The file in use is known by one name after the other, and each goes. */
ParameterizedTest(struct home *home, names, two_of_three_go)
{
    static struct world world;
    struct inode *inode, *again;
    struct file *file;
    struct stat st;

    begin(&world, home);
    inode = create(&world, "first", &file);
    cr_assert_eq(tree_link(world.fs, inode, top(&world), "second", &st), 0);
    cr_assert_eq(tree_link(world.fs, inode, top(&world), "third", &st), 0);
    for (int i = 0; i < 2; i++) {
        const char *name = i == 0 ? "third" : "second";

        cr_assert_eq(tree_lookup(world.fs, top(&world), name, &again, &st), 0);
        cr_assert_eq(again, inode);
        inode_unref(world.fs->inodes, again);
        cr_assert_eq(tree_unlink(world.fs, top(&world), name), 0);
    }
    use_many(&world);
    expect_links(&world, inode, 1);
    cr_expect_eq(file_write(world.fs, file, "written", 7, 0), 7);
    cr_expect_eq(file_sync(world.fs, file, false), 0);
    file_put(world.fs, file);
    inode_unref(world.fs->inodes, inode);
    expect_bytes(&world, "first", "written");
    cr_expect_eq(n_names(&world, world.fs->volume->todo), 0);
    end(&world);
}

/* Removed, or another file moved over it. */
static void take_name(struct world *world, const char *name, bool by_rename)
{
    struct inode *inode;
    struct file *file;

    if (!by_rename) {
        cr_assert_eq(tree_unlink(world->fs, top(world), name), 0);
        return;
    }
    inode = create(world, "new", &file);
    file_put(world->fs, file);
    inode_unref(world->fs->inodes, inode);
    cr_assert_eq(tree_rename(world->fs, top(world), "new", top(world), name, 0), 0);
}

static void lose_both(const struct home *home, bool first_by_rename, bool second_by_rename)
{
    static struct world world;
    struct inode *inode;
    struct file *file;
    char found[8] = "";
    struct stat st;

    begin(&world, home);
    inode = create(&world, "first", &file);
    cr_assert_eq(tree_link(world.fs, inode, top(&world), "second", &st), 0);
    cr_assert_eq(file_write(world.fs, file, "before", 6, 0), 6);
    take_name(&world, "second", second_by_rename);
    expect_links(&world, inode, 1);
    take_name(&world, "first", first_by_rename);
    use_many(&world);
    expect_links(&world, inode, 0);
    cr_expect_eq(file_write(world.fs, file, "x", 1, 0), 1);
    cr_expect_eq(tree_chmod(world.fs, inode, 0600), 0);
    cr_expect_eq(file_read(world.fs, file, found, sizeof found, 0), 6);
    cr_expect_str_eq(found, "xefore");
    cr_expect_gt(n_names(&world, world.fs->volume->todo), 0);
    file_put(world.fs, file);
    inode_unref(world.fs->inodes, inode);
    cr_expect_eq(n_names(&world, world.fs->volume->todo), 0);
    end(&world);
}

ParameterizedTestParameters(names, both_of_two_go)
{
    return homes();
}

ParameterizedTest(struct home *home, names, both_of_two_go)
{
    lose_both(home, false, false);
    lose_both(home, false, true);
    lose_both(home, true, false);
    lose_both(home, true, true);
}

ParameterizedTestParameters(names, what_is_gone_is_remembered)
{
    return homes();
}

/* As somebody has it who opened it: a pipe, a directory. */
ParameterizedTest(struct home *home, names, what_is_gone_is_remembered)
{
    static struct world world;
    struct inode *pipe, *dir, *other;
    struct stat st;

    begin(&world, home);
    cr_assert_eq(tree_mknod(world.fs, top(&world), "pipe", S_IFIFO | 0640, 0, &root, &pipe, &st), 0);
    cr_assert_eq(tree_mkdir(world.fs, top(&world), "dir", 0750, &root, &dir, &st), 0);
    cr_assert_eq(tree_unlink(world.fs, top(&world), "pipe"), 0);
    cr_assert_eq(tree_rmdir(world.fs, top(&world), "dir"), 0);
    use_many(&world);
    expect_links(&world, pipe, 0);
    expect_links(&world, dir, 0);
    cr_assert_eq(tree_stat(world.fs, pipe, &st), 0);
    cr_expect_eq(st.st_mode, S_IFIFO | 0640);
    cr_assert_eq(tree_mkdir(world.fs, top(&world), "pipe", 0755, &root, &other, &st), 0);
    cr_expect_neq(other, pipe);
    cr_assert_eq(tree_stat(world.fs, pipe, &st), 0);
    cr_expect_eq(st.st_mode, S_IFIFO | 0640);
    inode_unref(world.fs->inodes, other);
    inode_unref(world.fs->inodes, dir);
    inode_unref(world.fs->inodes, pipe);
    end(&world);
}

#define SILLY ".nfs0000000000000247000019e5"

/* Another program of this machine had something open on the home disk when it was removed. */
Test(names, an_nfs_client_keeps_its_own)
{
    static const struct home nfs = { "NFS", SIM_LACKS_TMPFILE };
    static struct world world;
    struct inode *dir, *inode;
    struct stat st;

    begin(&world, &nfs);
    cr_assert_eq(tree_mkdir(world.fs, top(&world), "dir", 0755, &root, &dir, &st), 0);
    cr_assert_eq(sim_poke(sim_disk(world.sim, 0), ".fallsfs/ns/dir/" SILLY, 0, "", 0), 0);
    cr_expect_eq(tree_lookup(world.fs, dir, SILLY, &inode, &st), -ENOENT);
    cr_expect_eq(tree_create(world.fs, dir, SILLY, 0644, &root, &inode, &st, NULL), -EPERM);
    cr_expect_eq(tree_mkdir(world.fs, dir, SILLY, 0755, &root, &inode, &st), -EPERM);
    cr_assert_eq(tree_mkdir(world.fs, dir, ".nfs1", 0755, &root, &inode, &st), 0);
    cr_expect_eq(tree_rename(world.fs, dir, ".nfs1", dir, SILLY, 0), -EPERM);
    cr_expect_eq(tree_rmdir(world.fs, top(&world), "dir"), -ENOTEMPTY);
    cr_assert_eq(tree_rmdir(world.fs, dir, ".nfs1"), 0);
    cr_expect_eq(tree_rmdir(world.fs, top(&world), "dir"), 0);
    inode_unref(world.fs->inodes, inode);
    inode_unref(world.fs->inodes, dir);
    end(&world);
}
