/* SPDX-License-Identifier: MIT */
/* Who may need what lies on the disks: the records of all files there are, and the copies of records. Who removes what
 * nobody names takes a census first, and removes nothing unless it came to its end.
 *
 *     ns/, then todo/     the stubs: each has a valid record, or there is no census
 *     obj/XX/ID.m         the copies, on all disks
 *
 * In a volume that is in use, names that move meanwhile and files that are made may be missed: who removes there also
 * notes the records that are stored from the beginning of the census on. */
#ifndef FALLSFS_FS_CORE_STUB_CENSUS_H
#define FALLSFS_FS_CORE_STUB_CENSUS_H

#include "fs/core/stub/copy.h"

struct census {
    int (*record)(void *arg,
                  const struct record *record); /* is told the record of each stub, as often as the stub has names */
    int (*copy)(void *arg, const struct copy *copy); /* NULL: copies are not looked at */
    void *arg;
};

/* Takes a census: 0 when all records and copies have been told. -ENODEV: a disk is missing; -EUCLEAN: a record is
 * damaged; -EPROTONOSUPPORT: a newer fallsfs made it; others as they come: ret_error says where, and what to do. It
 * ends, too, with what one of the functions returns below 0. */
int census_take(struct volume *volume, const struct census *census, struct volume_error *ret_error);

/* Tells take all copies on a disk but damaged ones. It goes on behind what cannot be read, which is the result; and
 * ends with what take returns below 0. take may keep a copy, and then replaces it by zeros. */
int census_copies(const struct disk *disk, int (*take)(void *arg, struct copy *copy), void *arg);

/* Notes for a census that may be under way that a name in a volume in use, which is there, is about to get another one.
 * To be called after inodes_naming_begin. */
void census_note_move(const struct volume *volume, struct layouts *layouts, int dir, const char *name, mode_t fmt);

#endif
