/* SPDX-License-Identifier: MIT */
#include "fs/ctl/ask/mounts.h"

#include "fs/core/disk/disk_list.h"

#include <libmount/libmount.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FS_TYPE "fuse.fallsfs"

void mounts_done(struct mounts *mounts)
{
    for (uint32_t i = 0; i < mounts->n; i++) {
        struct mount_place *place = &mounts->place[i];

        for (uint32_t j = 0; j < place->n_disks; j++)
            free(place->disk[j]);
        free(place->disk);
        free(place->target);
    }
    free(mounts->place);
    mnt_unref_table(mounts->table);
    *mounts = (struct mounts){ 0 };
}

/* Appends a disk's path, and takes it. */
static int add_disk(struct mount_place *place, char **path)
{
    if (!array_grow(place->disk, place->n_disks))
        return -ENOMEM;
    place->disk[place->n_disks++] = steal(*path);
    return 0;
}

static int read_disks(const char *source, struct mount_place *place)
{
    for (;;) {
        cleanup(freep) char *path = NULL;
        int r = disk_list_next(&source, &path);

        if (r <= 0)
            return r;
        if (strcmp(path, DISK_LIST_MORE) == 0)
            place->has_more = true;
        else if (add_disk(place, &path) < 0)
            return -ENOMEM;
    }
}

static int read_place(struct mounts *mounts, struct libmnt_fs *fs)
{
    struct mount_place *place;
    const char *source = mnt_fs_get_source(fs), *target = mnt_fs_get_target(fs);
    const char *options = mnt_fs_get_options(fs);

    if (!array_grow(mounts->place, mounts->n))
        return -ENOMEM;
    place = &mounts->place[mounts->n];
    *place = (struct mount_place){ .target = strdup(target != NULL ? target : ""), .dev = mnt_fs_get_devno(fs) };
    if (place->target == NULL)
        return -ENOMEM;
    mounts->n++;
    place->read_only = options != NULL && mnt_optstr_get_option(options, "ro", NULL, NULL) == 0;
    return read_disks(source != NULL ? source : "", place);
}

int mounts_read(struct mounts *ret_mounts)
{
    cleanup(mounts_done) struct mounts mounts = { .table = mnt_new_table_from_file("/proc/self/mountinfo") };
    struct libmnt_iter *iter = mnt_new_iter(MNT_ITER_FORWARD);
    struct libmnt_fs *fs;
    int r = mounts.table == NULL || iter == NULL ? -ENOENT : 0;

    while (r == 0 && mnt_table_next_fs(mounts.table, iter, &fs) == 0) {
        const char *type = mnt_fs_get_fstype(fs);

        if (type != NULL && strcmp(type, FS_TYPE) == 0)
            r = read_place(&mounts, fs);
    }
    mnt_free_iter(iter);
    if (r == 0) {
        *ret_mounts = mounts;
        mounts = (struct mounts){ 0 };
    }
    return r;
}

/* The length of target when path is target or lies below it; else 0. */
static size_t covers(const char *target, const char *path)
{
    size_t len = strlen(target);

    while (len > 0 && target[len - 1] == '/')
        len--;
    if (strncmp(target, path, len) != 0 || (path[len] != 0 && path[len] != '/'))
        return 0;
    return MAX(len, 1);
}

/* Where several mounts have one place the last counts: it covers the others, which cannot be reached. */
const struct mount_place *mounts_around(const struct mounts *mounts, const char *path, const char **ret_below)
{
    const struct mount_place *best = NULL;
    size_t longest = 0;

    for (uint32_t i = 0; i < mounts->n; i++) {
        size_t len = covers(mounts->place[i].target, path);

        if (len >= MAX(longest, 1)) {
            best = &mounts->place[i];
            longest = len;
        }
    }
    if (best != NULL) {
        *ret_below = path + longest;
        while (**ret_below == '/')
            ++*ret_below;
    }
    return best;
}

const struct mount_place *mounts_at(const struct mounts *mounts, const char *path)
{
    cleanup(freep) char *full = NULL;
    const struct mount_place *place;
    const char *below;

    if (mounts_resolve(mounts, path, &full) < 0)
        return NULL;
    place = mounts_around(mounts, full, &below);
    return place != NULL && *below == 0 ? place : NULL;
}

/* The file system that an absolute path lies on. */
static struct libmnt_fs *fs_of(const struct mounts *mounts, const char *path)
{
    struct libmnt_iter *iter = mnt_new_iter(MNT_ITER_FORWARD);
    struct libmnt_fs *fs, *best = NULL;
    size_t longest = 0;

    while (iter != NULL && mnt_table_next_fs(mounts->table, iter, &fs) == 0) {
        const char *target = mnt_fs_get_target(fs);
        size_t len = target != NULL ? covers(target, path) : 0;

        if (len >= MAX(longest, 1) && mnt_fs_get_fstype(fs) != NULL) {
            best = fs;
            longest = len;
        }
    }
    mnt_free_iter(iter);
    return best;
}

const char *mounts_fs_type(const struct mounts *mounts, const char *path)
{
    struct libmnt_fs *fs = fs_of(mounts, path);

    return fs != NULL ? mnt_fs_get_fstype(fs) : "?";
}

bool mounts_fs_has_failed(const struct mounts *mounts, const char *path)
{
    struct libmnt_fs *fs = fs_of(mounts, path);
    const char *options = fs != NULL ? mnt_fs_get_fs_options(fs) : NULL;

    return options != NULL && (mnt_optstr_get_option(options, "emergency_ro", NULL, NULL) == 0 ||
                               mnt_optstr_get_option(options, "shutdown", NULL, NULL) == 0);
}

/* Makes of path what word says: path/word, the directory above path for "..", path itself for "." and nothing. */
static int append(char **path, const char *word, size_t len)
{
    char *longer, *slash;

    if (len == 0 || (len == 1 && word[0] == '.'))
        return 0;
    if (len == 2 && word[0] == '.' && word[1] == '.') {
        slash = strrchr(*path, '/');
        *(slash == *path ? slash + 1 : slash) = 0;
        return 0;
    }
    if (asprintf(&longer, "%s%s%.*s", *path, (*path)[1] == 0 ? "" : "/", (int) len, word) < 0)
        return -ENOMEM;
    free(*path);
    *path = longer;
    return 0;
}

static int follow_links(const struct mounts *mounts, char **path)
{
    const char *below;
    char *real;

    if (mounts_around(mounts, *path, &below) != NULL)
        return 0;
    real = realpath(*path, NULL);
    if (real == NULL)
        return -errno;
    free(*path);
    *path = real;
    return 0;
}

int mounts_resolve(const struct mounts *mounts, const char *path, char **ret_path)
{
    cleanup(freep) char *full = path[0] == '/' ? strdup("/") : getcwd(NULL, 0);
    int r = full == NULL ? -ENOENT : 0; /* a directory that is gone has no path */

    while (r == 0 && *path != 0) {
        size_t len = strcspn(path, "/");

        r = append(&full, path, len);
        if (r == 0)
            r = follow_links(mounts, &full);
        path += len + (path[len] == '/');
    }
    if (r == 0)
        *ret_path = steal(full);
    return r;
}
