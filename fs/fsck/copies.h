/* SPDX-License-Identifier: MIT */
/* All copies of records that the disks have, the newest of each file. */
#ifndef FALLSFS_FS_FSCK_COPIES_H
#define FALLSFS_FS_FSCK_COPIES_H

#include "fs/core/stub/copy.h"

struct found_copy {
    struct copy copy;
    uint32_t disk;
};

struct copies {
    struct found_copy *found; /* by id */
    size_t n;
    int error; /* why a directory or a copy, the last such one, could not be read; 0: all could be */
    uint32_t error_disk;
    bool has_newer; /* some were made by a newer fallsfs, which knows more of its files than the others tell */
};

/* Whether a copy of this file's record was made by a newer fallsfs. */
bool copies_are_newer(const struct volume *volume, const uint8_t id[ID_SIZE]);

/* Finds the newest copy of each record. Damaged copies do not count. -ENOMEM. */
int copies_find(struct volume *volume, struct copies *ret_copies);
void copies_done(struct copies *copies);

bool copies_newer(const struct copy *a, const struct copy *b);

/* The record that a stub gets from a copy. The copy may be older than the file's bytes, so lengths are looked at when
 * the file is next used; but what the copy says must be there, must. A map of replicas that the home disk has by now
 * counts. */
struct record copies_record(const struct volume *volume, const struct copy *copy);

#endif
