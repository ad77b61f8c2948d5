/* SPDX-License-Identifier: MIT */
/* What a mount has counted of one file since somebody has it in use: user.falls.stats. */
#ifndef FALLSFS_FS_CTL_ASK_FILE_STATS_H
#define FALLSFS_FS_CTL_ASK_FILE_STATS_H

#include "fs/ctl/ask/attrs.h"

struct file_stats {
    uint64_t range_waits, range_wait_ns; /* of programs for others that change the same part */
    uint64_t reread;                     /* bytes that were read so that writes could keep them */
};

/* -ENODATA: the daemon of the mount is older than that. */
int file_stats_get(const char *path, struct file_stats *ret_stats);

/* What came between two looks. Of a file that nobody had in use meanwhile, what came since. */
struct file_stats file_stats_since(const struct file_stats *before, const struct file_stats *now);

#endif
