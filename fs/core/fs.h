/* SPDX-License-Identifier: MIT */
/* The beginning and the end of a volume's use, with all threads that work for it. No FUSE in here. */
#ifndef FALLSFS_FS_CORE_FS_H
#define FALLSFS_FS_CORE_FS_H

#include "fs/core/stub/in_use.h"

struct layout_rule;

struct fs_options {
    const char *layout; /* for new files */
    const char *where;  /* the layout was named there, as in struct layout_rule */
    uint64_t reserve;   /* bytes that a disk keeps back from new files; 0: none, ROOM_USUAL */
    const struct layout_rule *rule;
    uint32_t n_rules;
    uint32_t max_fds;         /* descriptors that inodes may keep open */
    uint32_t max_job_fds;     /* descriptors that jobs may have open; 0: as many as there are */
    uint32_t n_threads;       /* of the workers; 0: none, the calling thread does all the work */
    uint64_t window, confirm; /* bytes that a migration copies at a time, and before its record tells; 0: MiB, GiB */
    unsigned replica_shift;   /* windows of replicas have so many bits at least; 0: 1 MiB */
    uint64_t behind;          /* bytes that are written to a subfile before its disk is told to begin; 0: some MiB */
    bool noatime, nodiratime;
};

/* Begins to use a volume, which it takes over, and finishes what the last mount left unfinished. */
int fs_new(struct volume *volume, const struct fs_options *options, struct fs **ret_fs, struct volume_error *ret_error);

/* Ends the use of a volume: stores and syncs everything, and says on the disks that the epoch ended well. The result is
 * the first error; all is freed anyway. */
int fs_free(struct fs *fs);

#endif
