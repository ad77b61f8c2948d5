/* SPDX-License-Identifier: MIT */
/* What the names of objects say: ID.GEN.I and ID.GEN.h are subfiles, ID.m the copy of a record, ID.m.new one that was
 * never finished. Nothing else in obj/ is ours. */
#ifndef FALLSFS_FS_FSCK_OBJECT_NAME_H
#define FALLSFS_FS_FSCK_OBJECT_NAME_H

#include "fs/core/volume/record.h"

struct object_name {
    uint8_t id[ID_SIZE];
    bool is_copy, is_fresh, is_header;
    uint64_t gen;
    uint32_t slot;
};

bool object_name_parse(const char *name, struct object_name *ret);

/* Reads the name of an object in lost/, where a number behind the name may tell it from its namesakes. */
bool object_name_parse_lost(const char *name, struct object_name *ret);

static inline bool object_name_is_subfile(const struct object_name *name)
{
    return !name->is_copy && !name->is_fresh;
}

#endif
