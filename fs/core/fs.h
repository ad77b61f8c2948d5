/* SPDX-License-Identifier: MIT */
/* A volume in use: names, files, what is remembered of them, the threads that work for them. No FUSE in here.
 *
 * Lock order: take downwards, skip freely.
 *     inode->lock                 whether the file is loaded; removing it; what layout a directory has of its own
 *       file->sync_lock           one fsync of a file at a time
 *         file->ranges            parts of it that are read to be written back
 *         file->io (rw)           its bytes: shared to read and write, exclusive to cut
 *           file->meta            record, lengths, which subfiles are open
 *             inodes->naming      who is called what, while that changes
 *               inodes->lock      which inodes exist, their names, references, descriptors
 *                 layouts->lock   which layouts are known
 *     jobs->lock                  which files are given other layouts; leaf: inodes->lock alone is taken under it
 * A field that names no lock is set before the second thread starts and never changes. */
#ifndef FALLSFS_FS_CORE_FS_H
#define FALLSFS_FS_CORE_FS_H

#include "fs/core/inode.h"
#include "fs/core/layouts.h"
#include "fs/core/volume.h"
#include "fs/core/workers.h"

struct copier;
struct jobs;
struct defaults;
struct layout_rule;
struct reaper;

struct fs {
    struct volume *volume;
    struct layouts *layouts;
    struct workers *workers;
    struct inodes *inodes;
    struct reaper *reaper;
    struct copier *copier;
    struct jobs *jobs;
    struct defaults *defaults;
    bool read_only;
    bool privileged; /* may read and write any stub, whatever its mode */
    uint64_t behind;
    uint64_t window, confirm; /* of bytes that a migration copies: at a time, until its record says how far it got */
    atomic_uint_least64_t n_io, n_io_over; /* reads and writes that users asked for, and those of them that are over */
};

struct fs_options {
    const char *layout; /* for new files */
    const struct layout_rule *rule;
    uint32_t n_rules;
    uint32_t max_fds;         /* that inodes may keep open */
    uint32_t n_threads;       /* of the workers; 0: none, everything in the calling thread */
    uint64_t window, confirm; /* bytes that a migration copies at a time, until its record says so; 0: MiB, GiB */
    uint64_t behind;          /* bytes that are written to a subfile before its disk is told to begin; 0: some MiB */
};

/* Takes the volume over; finishes what the last mount left unfinished. */
int fs_new(struct volume *volume, const struct fs_options *options, struct fs **ret_fs, struct volume_error *ret_error);

/* Stores and syncs everything, says so on the disks. The error is the first that happened; all is freed anyway. */
int fs_free(struct fs *fs);

/* Around what users read and write: what goes on in the background leaves the disks to them meanwhile. */
static inline void fs_begin_io(struct fs *fs)
{
    atomic_fetch_add_explicit(&fs->n_io, 1, memory_order_relaxed);
}

static inline void fs_end_io(struct fs *fs)
{
    atomic_fetch_add_explicit(&fs->n_io_over, 1, memory_order_relaxed);
}

static inline struct disk *fs_home(const struct fs *fs)
{
    return volume_home(fs->volume);
}

#endif
