/* SPDX-License-Identifier: MIT */
#include "test/core/local.h"

#include "fs/core/fs.h"
#include "fs/core/tree/tree.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <unistd.h>

static void make_volume(const struct local *local, unsigned n_disks, struct volume **ret_volume)
{
    struct volume_error error = { "" };
    struct member member[LOCAL_MAX_DISKS];
    char path[LOCAL_MAX_DISKS][80];

    for (unsigned i = 0; i < n_disks; i++) {
        snprintf(path[i], sizeof path[i], "%s/d%u", local->top, i);
        cr_assert_eq(mkdir(path[i], 0700), 0);
        member[i] = (struct member){ .ops = &disk_local_ops, .path = path[i] };
        member[i].dir = open(path[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    cr_assert_eq(volume_format(member, n_disks, 0, 1, &error), 0, "%s", error.why);
    cr_assert_eq(volume_open(member, n_disks, 0, ret_volume, &error), 0, "%s", error.why);
    for (unsigned i = 0; i < n_disks; i++)
        close(member[i].dir);
}

void local_init(struct local *local, unsigned n_disks, const char *layout)
{
    const struct fs_options options = { .layout = layout, .max_fds = 16, .n_threads = 4 };
    static const struct cred cred = { .umask = 022 };
    struct volume_error error = { "" };
    struct volume *volume;
    struct stat st;

    snprintf(local->top, sizeof local->top, "/var/tmp/fallsfs-test.XXXXXX");
    cr_assert_not_null(mkdtemp(local->top));
    make_volume(local, n_disks, &volume);
    cr_assert_eq(fs_new(volume, &options, &local->fs, &error), 0, "%s: %s", layout, error.why);
    workers_start(local->fs->workers);
    cr_assert_eq(
        tree_create(local->fs, inodes_root(local->fs->inodes), "f", 0644, &cred, &local->inode, &st, &local->file), 0);
}

static int forget(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void) st, (void) kind, (void) ftw;
    return remove(path);
}

void local_done(struct local *local)
{
    file_put(local->fs, local->file);
    inode_unref(local->fs->inodes, local->inode);
    cr_assert_eq(fs_free(local->fs), 0);
    nftw(local->top, forget, 16, FTW_DEPTH | FTW_PHYS);
}
