/* SPDX-License-Identifier: MIT */
/* All copies of records that the disks have, the newest of each file. */
#ifndef FALLSFS_FS_FSCK_COPIES_H
#define FALLSFS_FS_FSCK_COPIES_H

#include "fs/core/copy.h"

struct found_copy {
    struct copy copy;
    uint32_t disk;
};

struct copies {
    struct found_copy *found; /* by id */
    size_t n, room;
    int error; /* why a directory, the last such one, could not be read; 0: all could be */
    uint32_t error_disk;
};

/* Damaged copies are none. -ENOMEM. */
int copies_find(struct volume *volume, struct copies *ret_copies);
void copies_done(struct copies *copies);

bool copies_newer(const struct copy *a, const struct copy *b);

/* The record a stub gets from a copy. It may be older than the bytes, so their lengths are looked at when the file is
 * next used; what it says must be there, must. */
struct record copies_record(const struct volume *volume, const struct copy *copy);

#endif
