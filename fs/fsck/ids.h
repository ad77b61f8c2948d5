/* SPDX-License-Identifier: MIT */
/* The files that valid records speak of, by id: who comes upon an object asks here whether somebody needs it. */
#ifndef FALLSFS_FS_FSCK_IDS_H
#define FALLSFS_FS_FSCK_IDS_H

#include "fs/core/layouts.h"

struct owner {
    uint8_t id[ID_SIZE];
    struct file_layout *layout; /* NULL: unknown; all objects with this id are then taken for needed */
    struct record_bits bits;
    uint64_t gen, oldest_gen, ino;
    uint16_t rotate;
    bool settled;   /* bits tell of every subfile there is */
    bool migrating; /* the next generation is there, too */
};

struct ids {
    struct layouts *layouts;
    struct owner **slot;
    size_t n_slots, n;
};

void ids_init(struct ids *ids, struct layouts *layouts);
void ids_done(struct ids *ids);

/* NULL when nobody has this id. */
const struct owner *ids_find(const struct ids *ids, const uint8_t id[ID_SIZE]);

/* Takes the reference to the layout. The id must be new. */
int ids_add(struct ids *ids, const struct owner *owner);

#endif
