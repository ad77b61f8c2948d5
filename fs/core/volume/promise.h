/* SPDX-License-Identifier: MIT */
/* What the record of a file tells in a later mount, when crashes may lie between. These are two questions:
 *
 *     what does it promise?     bytes that must be there, or they are lost: for good, whatever crashed since
 *     may it be behind?         the file has perhaps changed, and a crash has kept the record from telling
 *
 * The epoch that stored the record answers the first, the last epoch that did not end well the second. */
#ifndef FALLSFS_FS_CORE_VOLUME_PROMISE_H
#define FALLSFS_FS_CORE_VOLUME_PROMISE_H

#include "fs/core/volume/record.h"
#include "fs/core/volume/volume.h"

/* Up to size, each subfile in bits is there in full. */
struct promise {
    uint64_t size;
    struct record_bits bits;
};

/* What a record promises. When an epoch ends well everything is on the disks: a padded record of such an epoch promises
 * all it tells. A record of any other epoch promises what an fsync, or the end of a mount before, has confirmed. */
struct promise record_promise(const struct volume *volume, const struct record *record);

/* Makes a record tell this promise, whatever epoch it is stored in. */
void record_keep_promise(struct record *record, const struct promise *promise);

/* Whether the record may be behind its file, so that only the subfiles tell how long the file is and which subfiles
 * there are. */
bool record_may_be_behind(const struct volume *volume, const struct record *record);

#endif
