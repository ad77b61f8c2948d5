/* SPDX-License-Identifier: MIT */
/* Objects that a crash left and that no file will ever need are removed, where that is asked for and certain: a census
 * found every stub sound, and no copy of a record tells of a file that had the object and lost its name. */
#ifndef FALLSFS_FS_FSCK_ORPHANS_H
#define FALLSFS_FS_FSCK_ORPHANS_H

#include "fs/fsck/checking.h"
#include "fs/fsck/object_name.h"

/* Why an object does not belong where it is; NULL: it does, or may. */
struct verdict {
    const char *why;
    bool nobody_needs_it; /* a crash leaves such a thing; else somebody put it there */
};

struct verdict orphans_judge(const struct checking *checking, const struct disk *disk, const struct object_name *name);

/* Finds out whether objects may be removed, and tells what keeps them. Does nothing where nobody asked for that.
 * -ENOMEM. */
int orphans_begin(struct checking *checking);
void orphans_done(struct orphans *orphans);

/* The path that a copy tells of a file which was promised to stay and has objects, but has no name any more; else
 * NULL. */
const char *orphans_path(const struct orphans *orphans, const uint8_t id[ID_SIZE]);

/* Tells of an object that nobody needs, and its room on the disk; with repair removes it. */
void orphans_free(struct checking *checking, const struct spot *spot, const struct stat *st, const char *why);

/* Does the same with what earlier checks put aside in lost/, if nobody needs it now. */
int check_lost(struct checking *checking);

#endif
