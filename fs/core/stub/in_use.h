/* SPDX-License-Identifier: MIT */
/* A volume in use: names, files, what is remembered of them, the threads that work for them. No FUSE in here.
 *
 * Lock order: take downwards, skip freely.
 *     inode->lock                 whether the file is loaded; removing it; what layout a directory has of its own
 *       file->sync_lock           one fsync of a file at a time
 *         file->ranges            parts of it that are read to be written back
 *         file->io (rw)           its bytes: shared to read and write, exclusive to cut
 *           file->copying         the copy of its record
 *           replicas->changing    the map of its replicas on the disks
 *           file->meta            record, lengths, which subfiles are open
 *             replicas->lock      which windows are wrong; leaf: ranges' lock alone is taken under it
 *             inodes->naming      who is called what, while that changes
 *               inodes->lock      which inodes exist, their names, references, descriptors
 *                 layouts->lock   which layouts are known
 *     jobs->lock                  which files are given other layouts; leaf: inodes->lock alone is taken under it
 * A field that names no lock is set before the second thread starts and never changes. */
#ifndef FALLSFS_FS_CORE_STUB_IN_USE_H
#define FALLSFS_FS_CORE_STUB_IN_USE_H

#include "fs/core/disk/tally.h"
#include "fs/core/disk/workers.h"
#include "fs/core/stub/inode.h"
#include "fs/core/volume/file_layouts.h"
#include "fs/core/volume/volume.h"

struct copier;
struct defaults;
struct fs;
struct jobs;
struct reaper;
struct refills;
struct record;
struct room;

/* What the rooms below ask of those above. fs.c fills it in; a tool that uses only part of a volume leaves it empty. */
struct fs_calls {
    /* moves: somebody has begun to use a file that is on its way to another layout */
    void (*moves)(struct fs *fs, struct inode *inode);
    /* follow: replicas of this regular file have something to follow: windows to be filled, disks to be told */
    void (*follow)(struct fs *fs, struct inode *inode);
    /* copy: the copy of the record of this regular file is out of date */
    void (*copy)(struct fs *fs, struct inode *inode);
    /* reap, await, has: reaper_take, reaper_await, reaper_has */
    void (*reap)(struct fs *fs, const struct record *record, bool is_listed);
    void (*await)(struct fs *fs, bool is_new);
    void (*has)(struct fs *fs);
    /* make_room: waits until what is about to go has gone, as a write has found a disk full */
    void (*make_room)(struct fs *fs);
    /* ask_room: asks the disks how much room they have; written: so many bytes more have been written to files */
    void (*ask_room)(struct fs *fs);
    void (*written)(struct fs *fs, uint64_t bytes);
    /* sync_dir: makes the names in a directory durable */
    int (*sync_dir)(struct fs *fs, struct inode *dir);
};

struct fs {
    const struct fs_calls *calls;
    struct volume *volume;
    struct layouts *layouts;
    struct workers *workers;
    struct inodes *inodes;
    struct reaper *reaper;
    struct copier *copier;
    struct jobs *jobs;
    struct refills *refills;
    struct defaults *defaults;
    struct room *room;
    /* gone: the last name of an inode that is remembered has gone. Called without locks; NULL: nobody wants to know */
    void (*gone)(const struct inode *inode);
    /* resized: a file takes more or less room than before, and nobody has asked for that. Likewise */
    void (*resized)(const struct inode *inode);
    bool read_only;
    bool noatime, nodiratime; /* reading files, or listing directories, moves no atime */
    bool privileged;          /* this process may read and write any stub, whatever its mode */
    uint64_t behind;
    unsigned replica_shift;   /* windows of replicas have 1 << replica_shift bytes at least */
    uint64_t window, confirm; /* bytes that a migration copies at a time, and before its record tells how far it got */
    atomic_uint n_followed;   /* files that are listed for what their replicas lack (refill.h) */
    struct tally range_waits; /* of programs that waited for each other, in one file */
    atomic_uint_least64_t n_io, n_io_over; /* reads and writes that users asked for, and those of them that are over */
};

/* To be called around what users read and write: work in the background leaves the disks to them meanwhile. */
static inline void fs_begin_io(struct fs *fs)
{
    atomic_fetch_add_explicit(&fs->n_io, 1, memory_order_relaxed);
}

static inline void fs_end_io(struct fs *fs)
{
    atomic_fetch_add_explicit(&fs->n_io_over, 1, memory_order_relaxed);
}

static inline const struct disk *fs_home(const struct fs *fs)
{
    return volume_home(fs->volume);
}

#endif
