/* SPDX-License-Identifier: MIT */
/* The files that valid records speak of, by id: who comes upon an object asks here whether somebody needs it. */
#ifndef FALLSFS_FS_FSCK_IDS_H
#define FALLSFS_FS_FSCK_IDS_H

#include "fs/core/stub/replica_files.h"

/* The replicas that a file has, by its map. */
struct owner_replicas {
    bool is_unknown; /* the map cannot be read: all objects of replicas are then taken for needed */
    uint32_t second; /* the disk of the second map; UINT32_MAX: there is none */
    uint32_t n;
    struct owner_replica {
        uint32_t number;
        uint16_t rotate;
        struct file_layout *layout;
    } replica[REPLICAS_MAX];
};

struct owner {
    uint8_t id[ID_SIZE];
    struct file_layout *layout;      /* NULL: unknown; all objects with this id are then taken for needed */
    struct owner_replicas *replicas; /* NULL: the file has no map of replicas */
    struct record_bits bits;
    uint64_t gen, oldest_gen, ino;
    uint16_t rotate;
    bool settled;   /* bits tell of every subfile there is */
    bool migrating; /* the next generation is there, too */
    bool restored;  /* from a copy, and not stored since: there may have been later generations */
};

struct ids {
    struct layouts *layouts;
    struct owner **slot;
    size_t n_slots, n;
};

void ids_init(struct ids *ids, struct layouts *layouts);
void ids_done(struct ids *ids);

/* The file with this id; NULL when there is none. */
const struct owner *ids_find(const struct ids *ids, const uint8_t id[ID_SIZE]);

/* Adds a file, whose id must be new, and takes the references to its layouts, and its replicas, also on failure. */
int ids_add(struct ids *ids, const struct owner *owner);

#endif
