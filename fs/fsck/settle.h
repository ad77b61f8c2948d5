/* SPDX-License-Identifier: MIT */
/* What a crash has left undecided of a file: how long it is, and which subfiles it has. Until somebody has looked, its
 * record promises less than there is, and what is lost meanwhile would pass for a hole. A check looks: what agrees with
 * the record is promised from then on.
 *
 *     subfiles, as found ──> disks synced, subfiles padded ──> copy ──> record { size, bits: promised }
 *
 * A file of which something is missing, short or strange stays undecided, so that it can still be put back. */
#ifndef FALLSFS_FS_FSCK_SETTLE_H
#define FALLSFS_FS_FSCK_SETTLE_H

#include "fs/core/volume/promise.h"
#include "fs/fsck/check_replicas.h"
#include "fs/fsck/checking.h"

/* What has been seen of a file's subfiles. */
struct settling {
    uint64_t size; /* what the record says, or the last byte that was seen */
    struct record_bits there;
    bool is_doubtful; /* something is not as the record says */
};

/* Notes a subfile of len bytes, or that there is none. */
void settling_note(struct settling *settling, const struct record *record, const struct file_layout *layout,
                   uint32_t slot, uint64_t len);
void settling_note_none(struct settling *settling, const struct record *record, uint32_t slot);

/* A file, all of whose subfiles have been looked at. */
struct settling_file {
    const char *path;
    const struct stat *st;
    int fd; /* of the stub */
    const struct file_layout *layout;
    const struct promise *promise;
    struct checked_replicas *replicas;
};

/* Makes a record promise what was seen, if it may be behind that: the copy of the record follows, the end of the check
 * syncs the stub. Does nothing where something is doubtful, or left to the next mount. On failure the record is as
 * before. */
int settle(struct checking *checking, const struct settling *settling, const struct settling_file *file,
           struct record *record);

#endif
