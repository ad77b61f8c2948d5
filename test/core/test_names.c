/* SPDX-License-Identifier: MIT */
/* Files lose names while somebody uses them: on home disks that know files without a name, and on those that do not, as
 * NFS. */
#include "test/core/world.h"

#include "fs/core/file/file.h"
#include "fs/core/tree/tree.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

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

/* Uses so many other inodes that all descriptors which may be closed are closed. */
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

/* Counts the names in a directory of the home disk. */
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

/* A file in use loses the name that it is known by, and keeps another one. */
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

/* A file in use is known by one name after the other, and loses each but one. */
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

/* Takes a name away: by removing it, or by moving another file over it. */
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

/* A pipe or a directory that has lost its name keeps its attributes for who has it open, also when its name is used
 * again. */
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

/* When a file is removed that another program of this machine has open, an NFS client keeps it under a name of its own.
 * Such a name is hidden, nobody can make one, and it does not keep its directory from being removed. */
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

static void expect_reads(struct world *world, struct inode *inode, const char *bytes)
{
    char found[128] = "";
    struct file *file;

    cr_assert_eq(file_get(world->fs, inode, &file), 0);
    cr_expect_geq(file_read(world->fs, file, found, sizeof found - 1, 0), 0);
    cr_expect_str_eq(found, bytes);
    file_put(world->fs, file);
}

/* So many bytes that some lie on both disks. */
#define BYTES "These are more bytes than a stripe of the file has, so that some of them are on each of the disks."
#define LATER "These were written when the name had gone, and are as many as there were before, so that none stay."

/* The kernel has looked a file up, the file loses its name, and only then is it opened. */
static void open_late(const struct home *home, bool by_rename, const char *bytes, bool writes)
{
    static struct world world;
    struct inode *inode;
    struct file *file;
    uint64_t used;

    begin(&world, home);
    used = sim_disk_used(sim_disk(world.sim, 1));
    inode = create(&world, "file", &file);
    if (bytes[0] != 0)
        cr_assert_eq(file_write(world.fs, file, bytes, strlen(bytes), 0), (ssize_t) strlen(bytes));
    file_put(world.fs, file);
    for (int i = 0; i < 3; i++)
        inode_looked_up(world.fs->inodes, inode);
    inode_unref(world.fs->inodes, inode);
    take_name(&world, "file", by_rename);
    use_many(&world);
    file_forget(world.fs, inode, 1);
    expect_links(&world, inode, 0);
    expect_reads(&world, inode, bytes);
    if (writes) {
        cr_assert_eq(file_get(world.fs, inode, &file), 0);
        cr_expect_eq(file_write(world.fs, file, LATER, strlen(LATER), 0), (ssize_t) strlen(LATER));
        cr_expect_eq(file_sync(world.fs, file, false), 0);
        file_put(world.fs, file);
        expect_reads(&world, inode, LATER);
    }
    file_forget(world.fs, inode, 1);
    expect_reads(&world, inode, writes ? LATER : bytes);
    file_forget(world.fs, inode, 1);
    cr_expect_eq(n_names(&world, world.fs->volume->todo), 0);
    cr_expect_eq(sim_disk_used(sim_disk(world.sim, 1)), used, "its bytes stay");
    end(&world);
}

ParameterizedTestParameters(names, what_the_kernel_knows_can_be_opened)
{
    return homes();
}

ParameterizedTest(struct home *home, names, what_the_kernel_knows_can_be_opened)
{
    for (int i = 0; i < 8; i++)
        open_late(home, (i & 1) != 0, (i & 2) != 0 ? BYTES : "", (i & 4) != 0);
}

ParameterizedTestParameters(names, the_end_waits_for_no_kernel)
{
    return homes();
}

ParameterizedTest(struct home *home, names, the_end_waits_for_no_kernel)
{
    static struct world world;
    struct inode *inode;
    struct file *file;
    uint64_t used;

    begin(&world, home);
    world_unmount(&world);
    cr_assert_eq(world_mount(&world), 0, "%s", world.why);
    world_unmount(&world);
    used = sim_disk_used(sim_disk(world.sim, 1));
    cr_assert_eq(world_mount(&world), 0, "%s", world.why);
    inode = create(&world, "file", &file);
    cr_assert_eq(file_write(world.fs, file, BYTES, strlen(BYTES), 0), (ssize_t) strlen(BYTES));
    cr_expect_eq(file_sync(world.fs, file, false), 0);
    file_put(world.fs, file);
    inode_looked_up(world.fs->inodes, inode);
    inode_unref(world.fs->inodes, inode);
    take_name(&world, "file", false);
    cr_expect_gt(n_names(&world, world.fs->volume->todo), 0);
    world_unmount(&world);
    cr_expect_eq(sim_disk_used(sim_disk(world.sim, 1)), used, "its bytes stay");
    cr_assert_eq(world_mount(&world), 0, "%s", world.why);
    cr_expect_eq(n_names(&world, world.fs->volume->todo), 0);
    end(&world);
}
