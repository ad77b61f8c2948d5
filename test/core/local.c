/* SPDX-License-Identifier: MIT */
#include "test/core/local.h"

#include "fs/core/fs.h"
#include "fs/core/tree/tree.h"
#include "test/core/same_replicas.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SIZE_CHECKED (UINT64_C(1) << 26) /* longer files have holes that take too long */

/* Programs without Criterion have these files, too. */
static void must(bool good, const char *what, const char *why)
{
    if (good)
        return;
    fprintf(stderr, "%s: %s\n", what, why);
    abort();
}

static void make_volume(const struct local *local, unsigned n_disks, struct volume **ret_volume)
{
    struct volume_error error = { "" };
    struct member member[LOCAL_MAX_DISKS];
    char path[LOCAL_MAX_DISKS][80];

    for (unsigned i = 0; i < n_disks; i++) {
        snprintf(path[i], sizeof path[i], "%s/d%u", local->top, i);
        must(mkdir(path[i], 0700) == 0, path[i], "it cannot be made");
        member[i] = (struct member){ .ops = &disk_local_ops, .path = path[i] };
        member[i].dir = open(path[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    must(volume_format(member, n_disks, 0, 1, &error) == 0, "format", error.why);
    must(volume_open(member, n_disks, 0, ret_volume, &error) == 0, "open", error.why);
    for (unsigned i = 0; i < n_disks; i++)
        close(member[i].dir);
}

/* What the environment asks for happens to the file until the end: see local.h. */
static void begin_churn(struct local *local)
{
    const char *wanted = getenv("FALLSFS_CHURN");

    local->is_churned = wanted != NULL;
    if (local->is_churned)
        churn_start(&local->churn, local->fs, local->inode, strtoull(wanted, NULL, 10), false);
}

void local_init(struct local *local, unsigned n_disks, const char *layout)
{
    const struct fs_options options = { .layout = layout, .max_fds = 16, .n_threads = 4, .replica_shift = 8 };
    static const struct cred cred = { .umask = 022 };
    struct volume_error error = { "" };
    struct volume *volume;
    struct stat st;

    snprintf(local->top, sizeof local->top, "/var/tmp/fallsfs-test.XXXXXX");
    must(mkdtemp(local->top) != NULL, local->top, "it cannot be made");
    make_volume(local, n_disks, &volume);
    must(fs_new(volume, &options, &local->fs, &error) == 0, layout, error.why);
    workers_start(local->fs->workers);
    must(tree_create(local->fs, inodes_root(local->fs->inodes), "f", 0644, &cred, &local->inode, &st, &local->file) ==
             0,
         "f", "it cannot be made");
    begin_churn(local);
}

void local_check(struct local *local)
{
    uint64_t size = MIN(file_size(local->file), SIZE_CHECKED);
    cleanup(freep) uint8_t *bytes = malloc(size + 1);
    char why[SAME_WHY] = "";
    int r = 0;

    must(bytes != NULL, "memory", "there is none");
    if (size < SIZE_CHECKED && file_read(local->fs, local->file, bytes, size, 0) >= 0)
        r = same_replicas(local->fs, local->file, bytes, why);
    must(r == 0, "replicas", why[0] != 0 ? why : strerror(-r));
}

static int forget(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void) st, (void) kind, (void) ftw;
    return remove(path);
}

void local_done(struct local *local)
{
    if (local->is_churned) {
        churn_stop(&local->churn);
        local_check(local);
    }
    file_put(local->fs, local->file);
    inode_unref(local->fs->inodes, local->inode);
    must(fs_free(local->fs) == 0, "the end", "it is not a good one");
    nftw(local->top, forget, 16, FTW_DEPTH | FTW_PHYS);
}
