/* SPDX-License-Identifier: MIT */
/* The objects of a file are its subfiles as they lie on the disks, obj/XX/ID.GEN.I: what they say of themselves, and
 * how they go. Nobody has the file in use. */
#ifndef FALLSFS_FS_CORE_STUB_OBJECTS_H
#define FALLSFS_FS_CORE_STUB_OBJECTS_H

#include "fs/core/volume/file_layouts.h"

/* Whether objects of a file with this record may have a second name: a subfile that stays when its file gets another
 * layout has two names for a while. */
bool object_may_be_linked(const struct record *record);

/* What the stamp of an object says: which one it is. An object without one is as good: it may be a copy, lie on a disk
 * without attributes, or be left by a crash. */
struct object_stamp {
    const uint8_t *id;
    uint64_t gen;
    uint32_t slot;
};

/* Stamps a new object. */
void object_put_stamp(const struct disk *disk, int dir, const char *path, const struct object_stamp *stamp);

/* Checks the stamp of an object, if it has one. -EUCLEAN: it says that it is another object, as when somebody has put
 * the bytes of another file there by hand. may_be_linked: an object that has stayed when its file got another layout
 * still has the stamp of the generation before. */
int object_check_stamp(const struct disk *disk, int dir, const char *path, const struct object_stamp *stamp,
                       bool may_be_linked);

/* Removes all objects that a file with this record may have, and the copies of the record. The result is one of the
 * first errors; the other objects are removed anyway, as far as their layouts are known. */
int objects_remove(const struct volume *volume, struct layouts *layouts, const struct record *record);

/* Removes the objects of generations before the current one, or of the one that a migration fills. The layout is the
 * one that they have. */
int objects_remove_old(const struct volume *volume, struct layouts *layouts, const struct record *record,
                       const struct file_layout *old_layout);
int objects_remove_target(const struct volume *volume, const struct record *record,
                          const struct file_layout *target_layout);

#endif
