/* SPDX-License-Identifier: MIT */
/* A volume in use: names, files, what is remembered of them, the threads that work for them. No FUSE in here.
 *
 * Lock order: take downwards, skip freely.
 *     inode->lock                 whether the file is loaded; removing it
 *       file->sync_lock           one fsync of a file at a time
 *         file->io (rw)           its bytes: shared to read and write, exclusive to cut
 *           file->meta            record, lengths, which subfiles are open
 *             inodes->naming      who is called what, while that changes
 *               inodes->lock      which inodes exist, their names, references, descriptors
 *               layouts->lock     which layouts are known
 * A field that names no lock is set before the second thread starts and never changes. */
#ifndef FALLSFS_FS_CORE_FS_H
#define FALLSFS_FS_CORE_FS_H

#include "fs/core/inode.h"
#include "fs/core/layouts.h"
#include "fs/core/volume.h"
#include "fs/core/workers.h"

struct copier;
struct reaper;

struct fs {
    struct volume *volume;
    struct layouts *layouts;
    struct workers *workers;
    struct inodes *inodes;
    struct reaper *reaper;
    struct copier *copier;
    struct file_layout *default_layout;
    bool default_rotates;
    bool read_only;
    bool privileged; /* may read and write any stub, whatever its mode */
};

struct fs_options {
    const char *layout; /* for new files */
    uint32_t max_fds;   /* that inodes may keep open */
    uint32_t n_threads; /* of the workers; 0: none, everything in the calling thread */
};

/* Takes the volume over; finishes what the last mount left unfinished. */
int fs_new(struct volume *volume, const struct fs_options *options, struct fs **ret_fs, struct volume_error *ret_error);

/* Stores and syncs everything, says so on the disks. The error is the first that happened; all is freed anyway. */
int fs_free(struct fs *fs);

static inline struct disk *fs_home(const struct fs *fs)
{
    return volume_home(fs->volume);
}

#endif
