/* SPDX-License-Identifier: MIT */
/* What formatting a volume and changing one have in common. */
#ifndef FALLSFS_FS_CORE_VOLUME_PARTS_H
#define FALLSFS_FS_CORE_VOLUME_PARTS_H

#include "fs/core/volume.h"

/* -ENOTEMPTY, -EEXIST there is a .fallsfs already. */
int member_check_empty(const struct member *member, struct volume_error *error);

/* Makes the .fallsfs of an empty directory, and leaves it open: without a stamp it is no disk yet. */
int member_prepare(const struct member *member, struct disk *disk, bool is_home, uint32_t fanout,
                   struct volume_error *error);

/* Takes the lock of an open disk, for as long as disk->lock is open; path is for words. -EBUSY somebody has it. */
int member_lock(const char *path, struct disk *disk, enum volume_flags flags, struct volume_error *error);

/* Removes what member_prepare and stamping made, if nothing else is there. */
void member_undo(const struct member *member, struct disk *disk, uint32_t fanout);

#endif
