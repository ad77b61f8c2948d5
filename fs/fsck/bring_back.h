/* SPDX-License-Identifier: MIT */
/* A subfile that is missing or short gets its bytes back from another object that has them:
 *
 *     own bytes, if any ──> SUBFILE.new ──> synced, stamped ──> renamed to SUBFILE
 *     bytes of the other ──────^
 *
 * So whatever happens meanwhile, what the file has stays as it is, and no hole is taken for bytes. */
#ifndef FALLSFS_FS_FSCK_BRING_BACK_H
#define FALLSFS_FS_FSCK_BRING_BACK_H

#include "fs/core/stub/objects.h"

/* An object, and so many bytes of it that count. */
struct bytes_of {
    const struct disk *disk;
    const char *object;
    uint64_t len;
};

/* Makes the subfile own anew, which is what stamp says: its own bytes, and behind them those of other, which is longer.
 * On failure it is as before. */
int bring_back(const struct volume *volume, const struct bytes_of *own, const struct bytes_of *other,
               const struct object_stamp *stamp);

#endif
