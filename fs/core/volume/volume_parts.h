/* SPDX-License-Identifier: MIT */
/* What opening a volume, formatting one and changing one have in common. */
#ifndef FALLSFS_FS_CORE_VOLUME_VOLUME_PARTS_H
#define FALLSFS_FS_CORE_VOLUME_VOLUME_PARTS_H

#include "fs/core/volume/volume.h"

/* The lock file is so long when the daemon that holds it has unmounted and is writing what is left. */
#define LOCK_ENDING 1

/* Checks that a directory is empty. -ENOTEMPTY: it is not; -EEXIST: it has a .fallsfs already. */
int member_check_empty(const struct member *member, struct volume_error *error);

/* Makes the .fallsfs of an empty directory, and leaves it open: without a stamp it is no disk yet. */
int member_prepare(const struct member *member, struct disk *disk, bool is_home, uint32_t fanout,
                   struct volume_error *error);

/* Opens a member's .fallsfs, and checks that nobody but its owner may look into it. */
int member_open_root(const struct member *member, enum volume_flags flags, struct disk *disk,
                     struct volume_error *error);

/* Takes the lock of an open disk, and holds it as long as disk->lock is open; path is for words. -EBUSY: another
 * process has it. */
int member_lock(const char *path, struct disk *disk, enum volume_flags flags, struct volume_error *error);

/* Gives a disk its watch, as volume_watch has it for all. */
int volume_watch_disk(struct volume *volume, struct disk *disk);

/* Stamps all disks; the others are written even when one fails. */
int volume_stamp_all(struct volume *volume);

/* Removes what member_prepare and stamping made, if nothing else is there. */
void member_undo(const struct member *member, struct disk *disk, uint32_t fanout);

#endif
