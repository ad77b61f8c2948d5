/* SPDX-License-Identifier: MIT */
/* What the names of objects say. Nothing else in obj/ is ours.
 *
 *     ID.GEN.I   ID.GEN.h     a subfile                     ID.m     the copy of a record
 *     ID.rK.I    ID.rK.h      a subfile of replica K        ID.r     the map of the replicas
 *
 * With .new behind it is one that was never finished. */
#ifndef FALLSFS_FS_FSCK_OBJECT_NAME_H
#define FALLSFS_FS_FSCK_OBJECT_NAME_H

#include "fs/core/volume/record.h"

enum object_kind {
    OBJECT_SUBFILE,
    OBJECT_REPLICA,
    OBJECT_COPY,
    OBJECT_MAP,
};

struct object_name {
    uint8_t id[ID_SIZE];
    enum object_kind kind;
    bool is_fresh, is_header;
    uint64_t gen;     /* of a subfile */
    uint32_t replica; /* of one of a replica: its number */
    uint32_t slot;
};

bool object_name_parse(const char *name, struct object_name *ret);

/* Reads the name of an object in lost/, where a number behind the name may tell it from its namesakes. */
bool object_name_parse_lost(const char *name, struct object_name *ret);

static inline bool object_name_is_subfile(const struct object_name *name)
{
    return !name->is_fresh && (name->kind == OBJECT_SUBFILE || name->kind == OBJECT_REPLICA);
}

#endif
