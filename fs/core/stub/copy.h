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
 * disk: a file all of whose bytes go with the home disk needs no copy. With `copies 2` the disks of the second copy of
 * its bytes come after those of the first. It is replaced as a whole and never synced by itself, so after a crash it
 * may be older than the record, or not there. */
#ifndef FALLSFS_FS_CORE_STUB_COPY_H
#define FALLSFS_FS_CORE_STUB_COPY_H

#include "fs/core/volume/file_layouts.h"

#include <sys/stat.h>

struct copy {
    struct record record;
    mode_t mode; /* the stub's, type included */
    uid_t uid;
    gid_t gid;
    struct timespec atime, mtime;
    char *path;
};

void copy_done(struct copy *copy);

int copy_encode(const struct record *record, const struct stat *st, const char *path, char **ret_bytes,
                size_t *ret_len);

/* Reads a copy. -EUCLEAN: copy_encode did not write it; -EPROTONOSUPPORT: it is a whole copy of a newer record. */
int copy_decode(const char *bytes, size_t len, struct copy *ret_copy);

/* The path of a copy, obj/XX/ID.m. */
void copy_path(const struct volume *volume, const uint8_t id[ID_SIZE], char ret_path[static OBJECT_PATH]);

/* Reads the copy at a path below .fallsfs. -ENOENT: there is none; -EUCLEAN, -EPROTONOSUPPORT as copy_decode. */
int copy_read(const struct disk *disk, const char *path, struct copy *ret_copy);

/* The disk that the copy of a record belongs on, or COPY_NOWHERE. */
#define COPY_NOWHERE UINT32_MAX
uint32_t copy_disk(const struct volume *volume, const struct record *record, const struct file_layout *layout);

/* The disk that the copy of a record belongs on, if that disk is present; NULL: it is not, or there is no such disk. */
const struct disk *copy_find_disk(const struct volume *volume, const struct record *record,
                                  const struct file_layout *layout);

/* Writes the copy of a record whose stub has these attributes. Does nothing for a file that needs no copy. */
int copy_put(const struct volume *volume, const struct record *record, const struct file_layout *layout,
             const struct stat *st, const char *path);

/* Makes the copy of a record on a disk durable, with its name. */
int copy_sync(const struct volume *volume, const struct disk *disk, const uint8_t id[ID_SIZE]);

/* Removes the copies of a record from the disks of its current layout. The result is the first error; the other copies
 * are removed anyway. */
int copy_remove(const struct volume *volume, const struct record *record, const struct file_layout *layout);

/* Removes the copies of older generations of a file, which any disk of their layout may have. The result is the first
 * error. */
int copy_remove_old(const struct volume *volume, const struct record *record, const struct file_layout *old_layout);

/* Removes all copies of a record but the one on disk except: from the disks of laying, or with laying NULL from all
 * disks. The result is the first error. */
int copy_remove_others(const struct volume *volume, const struct record *record, const struct placed_layout *laying,
                       uint32_t except);

#endif
