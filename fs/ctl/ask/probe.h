/* SPDX-License-Identifier: MIT */
/* What a directory tells of itself that may be a disk. Each is asked by a thread of its own: one that does not
 * answer, as an NFS mount whose server is gone, costs a few seconds and its own line, not what the others have to
 * say. */
#ifndef FALLSFS_FS_CTL_ASK_PROBE_H
#define FALLSFS_FS_CTL_ASK_PROBE_H

#include "fs/core/volume/stamp.h"

#include <sys/statvfs.h>

enum probe_state {
    PROBE_ONLINE,
    PROBE_FULL,
    PROBE_NO_INODES,
    PROBE_READ_ONLY,
    PROBE_MISSING, /* no directory, or no stamp in it */
    PROBE_DAMAGED, /* a stamp that cannot be read */
    PROBE_NEWER,   /* one that a newer fallsfs made */
    PROBE_SILENT,
};

struct probe {
    enum probe_state state;
    int error;          /* why it gives no answer */
    struct stamp stamp; /* when it answers */
    bool in_use;        /* somebody holds the disk's lock */
    dev_t dev;          /* disks may share a file system */
    struct statvfs space;
    uint64_t size, free, avail;
};

/* Asks all directories at once. */
int probe_all(char *const path[], uint32_t n, struct probe ret_probe[]);
void probe_done(struct probe *probe);

static inline bool probe_answered(const struct probe *probe)
{
    return probe->state < PROBE_MISSING;
}

const char *probe_state_name(enum probe_state state);

#endif
