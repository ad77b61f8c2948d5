/* SPDX-License-Identifier: MIT */
/* Replicas as somebody asks for them: to add one, to be told of them, to drop one. */
#ifndef FALLSFS_FS_CORE_FILE_FILE_REPLICAS_H
#define FALLSFS_FS_CORE_FILE_FILE_REPLICAS_H

#include "fs/core/file/file.h"
#include "fs/core/volume/replica_map.h"
#include "layout/nest.h"

/* What is told of a replica. */
struct replica_view {
    uint32_t number;
    uint16_t flags; /* enum replica_flags */
    uint16_t rotate;
    struct file_layout *layout;  /* with a reference; NULL: nobody knows it */
    uint64_t asked_lo, asked_hi; /* the bytes that it was asked for; hi UINT64_MAX: to the end of the file */
    uint64_t lo, hi;             /* those of them that the file has */
    uint64_t has, right;         /* bytes that can be read from it, and that the disks call right */
    uint64_t blocks;             /* of 512 bytes, that its subfiles take */
    bool is_lost;                /* it is of no use until the file is taken into use again */
    bool is_failing;             /* it could not be read */
    int error; /* why it is lost, or why its last window could not be filled; 0: nobody knows of any */
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
/* What reading takes, window by window, where a file has replicas. */
struct replica_cost {
    uint32_t number;    /* of the replica; 0: the file as it lies now */
    double ns;          /* of all windows that can be read there */
    uint64_t n, chosen; /* how many these are, and how many are read there */
};

struct replica_costs {
    uint64_t n; /* windows that were looked at */
    uint32_t n_of;
    struct replica_cost of[1 + REPLICAS_MAX];
};

/* Finds out what reading a part of the file takes, which nobody reads now, in windows of so many bytes, the first most
 * of them. */
void file_weigh_replicas(struct fs *fs, struct file *file, const struct nest *nest, uint64_t window, uint64_t most,
                         struct replica_costs *ret_costs);

/* How many file_view_replicas would tell of. */
uint32_t file_count_replicas(struct file *file);
void replica_view_done(struct fs *fs, struct replica_view *view);

/* Whether some that are dropped have not gone yet. */
bool file_has_ended_replicas(struct file *file);

/* Drops those replicas of a file, but no second copies, that lie on one of these disks, and that get what is written
 * (updated), or else those that do not, and returns how many. No range need be free: who waits for room may have one
 * locked. */
uint32_t file_give_way(struct fs *fs, struct file *file, const bool on[], bool updated);

/* Removes what dropped replicas have left, and drops second copies of how the file lay before, once there is a whole
 * one of how it lies now. */
int file_tidy_replicas(struct fs *fs, struct file *file);

#endif
