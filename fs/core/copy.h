/* SPDX-License-Identifier: MIT */
/* A copy of a file's record, with the last path that was known, beside its subfiles: when the home disk is lost with
 * all names, fsck.fallsfs makes them anew from the copies.
 *
 *     obj/XX/ID.m      256 bytes   the record
 *                      a line      mode uid gid atime mtime
 *                      the path    from the volume's root, any bytes
 *                      a line      the checksum of all this
 *
 * It lies on the first disk of the file's layout, from its rotation on, that has bytes of the file and is not the home
 * disk: a file all of whose bytes go with the home disk needs no copy. It is replaced as a whole and never synced by
 * itself, so after a crash it may be older than the record, or not there. */
#ifndef FALLSFS_FS_CORE_COPY_H
#define FALLSFS_FS_CORE_COPY_H

#include "fs/core/file.h"

struct copy {
    struct record record;
    mode_t mode; /* of the stub, type included */
    uid_t uid;
    gid_t gid;
    struct timespec atime, mtime;
    char *path;
};

void copy_done(struct copy *copy);

int copy_encode(const struct record *record, const struct stat *st, const char *path, char **ret_bytes,
                size_t *ret_len);

/* -EUCLEAN for anything that copy_encode did not write. */
int copy_decode(const char *bytes, size_t len, struct copy *ret_copy);

/* obj/XX/ID.m */
void copy_path(const struct volume *volume, const uint8_t id[ID_SIZE], char ret_path[static OBJECT_PATH]);

/* The copy at a path below .fallsfs; -ENOENT, -EUCLEAN. */
int copy_read(const struct disk *disk, const char *path, struct copy *ret_copy);

/* Writes the copy of a record whose stub has these attributes; nothing for a file that needs none. */
int copy_put(const struct volume *volume, const struct record *record, const struct file_layout *layout,
             const struct stat *st, const char *path);

/* The same for a file as its stub is now; an empty one loses the copy it may have. */
int copy_write(struct fs *fs, struct file *file);

/* The copy of a file in use, wherever it lies; -ENOENT. */
int copy_find(struct fs *fs, struct file *file, struct copy *ret_copy);

/* After a migration, before the old generation goes: the copy that told of that gives way to one that tells of the new
 * one. As far as it can be done. */
void copy_follow(struct fs *fs, struct file *file, const struct record *record, const struct file_layout *old_layout);

/* Removes the copies of a file with this record. The error is the first; the others are removed anyway. */
int copy_remove(const struct volume *volume, const struct record *record, const struct file_layout *layout);

#endif
