/* SPDX-License-Identifier: MIT */
/* What a mount tells everybody of itself, also who may not look at its disks. */
#ifndef FALLSFS_FS_CTL_ASK_MOUNT_INFO_H
#define FALLSFS_FS_CTL_ASK_MOUNT_INFO_H

#include "fs/ctl/ask/volume_disks.h"

#include <string.h>
#include <sys/statvfs.h>

struct mount_info {
    char *mountpoint;
    int error;                 /* 0: the rest is there */
    uint64_t one_file;         /* what a new file at the top can take */
    char *layout;              /* that it would have */
    char *notes;               /* lines: what its daemon could not agree on with the kernel */
    struct volume_disks disks; /* and for each */
    bool *left_out;            /* by new files, since it is nearly full or read-only */
    bool *is_read_only;        /* of those */
    bool *wants_room;          /* of those: another disk would help */
    struct statvfs *space;     /* f_blocks 0: its place cannot be asked */
    uint64_t *n_errors;        /* since the volume was mounted */
    char *actions;             /* lines: what is to be done about disks that take nothing; NULL: nothing is known */
    char *volume;              /* its number, in hex; NULL: an older fallsfs does not tell */
};

/* Asks a mount; NULL: it gives no answer in time, or there is no memory. */
struct mount_info *mount_info_ask(const char *mountpoint);
void mount_info_free(struct mount_info *mount);

static inline bool mount_info_is_read_only(const struct mount_info *mount, uint32_t disk)
{
    return disk < mount->disks.n && mount->is_read_only[disk];
}

/* Whether a disk is shown: one that has left is not. */
static inline bool mount_info_shows(const struct mount_info *mount, uint32_t disk)
{
    return strcmp(mount->disks.disk[disk].state, "gone") != 0;
}

/* The room on a disk, in bytes. */
struct mount_info_sizes {
    uint64_t size, used, avail;
};

/* Stores the room on a disk; false: the disk's place cannot be asked. */
bool mount_info_sizes(const struct mount_info *mount, uint32_t disk, struct mount_info_sizes *ret_sizes);

static inline void mount_info_freep(struct mount_info **mount)
{
    mount_info_free(*mount);
}

#endif
