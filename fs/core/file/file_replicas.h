/* SPDX-License-Identifier: MIT */
/* Replicas as somebody asks for them: to add one, to be told of them, to drop one. */
#ifndef FALLSFS_FS_CORE_FILE_FILE_REPLICAS_H
#define FALLSFS_FS_CORE_FILE_FILE_REPLICAS_H

#include "fs/core/file/file.h"
#include "fs/core/volume/replica_map.h"

/* What is told of a replica. */
struct replica_view {
    uint32_t number;
    uint16_t flags; /* enum replica_flags */
    uint16_t rotate;
    struct file_layout *layout; /* with a reference; NULL: nobody knows it */
    uint64_t lo, hi;            /* the bytes that it is to have, no further than the end of the file */
    uint64_t has, right;        /* bytes that can be read from it, and that the disks call right */
    bool is_lost;               /* it is of no use until the file is taken into use again */
};

struct replica_asked {
    struct file_layout *layout; /* stays the caller's */
    uint16_t rotate;
    uint64_t lo, hi; /* hi UINT64_MAX: to the end of the file */
    bool updates;    /* it gets what is written; else written windows are dropped */
};

/* Adds a replica, durably, which is filled in the background. -EUSERS: the file has as many as it may have; -EBUSY:
 * some that are dropped have not gone yet. The volume is one that has replicas (volume_begin_replicas). */
int file_add_replica(struct fs *fs, struct file *file, const struct replica_asked *asked, uint32_t *ret_number);

/* Drops a replica. -ENOENT: there is none with that number; -EPERM: it is the second copy, which goes with the layout.
 * What cannot be removed now is removed later. */
int file_drop_replica(struct fs *fs, struct file *file, uint32_t number);

/* Tells of all replicas but those that are dropped; returns how many there are. */
uint32_t file_view_replicas(struct fs *fs, struct file *file, struct replica_view ret_view[static REPLICAS_MAX]);
void replica_view_done(struct fs *fs, struct replica_view *view);

/* Whether some that are dropped have not gone yet. */
bool file_has_ended_replicas(struct file *file);

/* Removes what dropped replicas have left, and drops second copies of how the file lay before, once there is a whole
 * one of how it lies now. */
int file_tidy_replicas(struct fs *fs, struct file *file);

#endif
