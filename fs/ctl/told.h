/* SPDX-License-Identifier: MIT */
/* What a mount tells everybody of itself, also who may not look at its disks. */
#ifndef FALLSFS_FS_CTL_TOLD_H
#define FALLSFS_FS_CTL_TOLD_H

#include "fs/ctl/volume_disks.h"

#include <sys/statvfs.h>

struct told {
    char *mountpoint;
    int error;                 /* 0: the rest is there */
    uint64_t one_file;         /* what a new file at the top can take */
    char *layout;              /* that it would have */
    struct volume_disks disks; /* and for each */
    struct statvfs *space;     /* f_blocks 0: its place cannot be asked */
};

/* NULL: it gives no answer in time, or no memory. */
struct told *told_ask(const char *mountpoint);
void told_free(struct told *told);

static inline void told_freep(struct told **told)
{
    told_free(*told);
}

#endif
