/* SPDX-License-Identifier: MIT */
/* The mounts of fallsfs on this machine, as the kernel lists them. Nothing in here asks a mount itself: its daemon may
 * be gone, or hang, and who asks it then hangs, too. */
#ifndef FALLSFS_FS_CTL_ASK_MOUNTS_H
#define FALLSFS_FS_CTL_ASK_MOUNTS_H

#include "layout/base.h"

#include <sys/types.h>

struct libmnt_table;

struct mount_place {
    char *target;
    dev_t dev;
    bool read_only;
    uint32_t n_disks;
    char **disk;
    bool has_more; /* disks that the kernel had no room to list */
};

struct mounts {
    struct libmnt_table *table;
    uint32_t n;
    struct mount_place *place;
};

int mounts_read(struct mounts *ret_mounts);
void mounts_done(struct mounts *mounts);

/* The mount at path; NULL when there is none. */
const struct mount_place *mounts_at(const struct mounts *mounts, const char *path);

/* The mount that an absolute path lies in, and what of path lies below it: no slash in front, empty for its root. */
const struct mount_place *mounts_around(const struct mounts *mounts, const char *path, const char **ret_below);

/* The type of the file system that an absolute path lies on; "?" when that cannot be told. */
const char *mounts_fs_type(const struct mounts *mounts, const char *path);

/* Whether the file system that an absolute path lies on takes no more writes since it has found an error, though it
 * does not count as read-only. */
bool mounts_fs_has_failed(const struct mounts *mounts, const char *path);

/* Makes a path absolute and without symlinks, as long as that does not lead into one of these mounts; from there on the
 * path stays as it is spelled. */
int mounts_resolve(const struct mounts *mounts, const char *path, char **ret_path);

#endif
