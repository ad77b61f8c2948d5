/* SPDX-License-Identifier: MIT */
/* A set of hashes of layouts. Zeros, which name none, are not in it. */
#ifndef FALLSFS_FS_CORE_VOLUME_HASHES_H
#define FALLSFS_FS_CORE_VOLUME_HASHES_H

#include "fs/core/volume/record.h"

struct hashes {
    uint8_t (*slot)[HASH_SIZE]; /* open addressing; zeros are free */
    size_t n_slots, n;
};

void hashes_done(struct hashes *hashes);

bool hashes_has(const struct hashes *hashes, const uint8_t hash[HASH_SIZE]);

/* Adds a hash to the set. -ENOMEM. */
int hashes_add(struct hashes *hashes, const uint8_t hash[HASH_SIZE]);

/* Adds the hashes of all layouts that a record names. -ENOMEM. */
int hashes_add_record(struct hashes *hashes, const struct record *record);

/* The next hash of the set, and moves *at, which is 0 at first, behind it. NULL: there is none. */
const uint8_t *hashes_next(const struct hashes *hashes, size_t *at);

#endif
