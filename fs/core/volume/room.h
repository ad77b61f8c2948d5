/* SPDX-License-Identifier: MIT */
/* Which disks have room for new files. One that is nearly full is left out where nobody has named disks, so that it
 * keeps what it has for the files that are there already, and closes the volume to no one:
 *
 *     free    0 ......... reserve ................ twice that ......... all
 *              left out              as before               taken
 *
 * One that has hardly an inode left, or that nobody may write to, is left out as well, until that changes.
 *
 * There is one table for the volume, of what the disks last said, refreshed each second, and earlier when so much has
 * been written that another disk may be left out: making a file asks no disk. It also decides where new files start:
 * more of them on disks with more room. */
#ifndef FALLSFS_FS_CORE_VOLUME_ROOM_H
#define FALLSFS_FS_CORE_VOLUME_ROOM_H

#include "fs/core/volume/file_layouts.h"

#define ROOM_USUAL UINT64_MAX /* a reserve: what room_reserve chooses */

struct room_rule {
    uint64_t reserve; /* bytes; 0: no disk is ever left out */
    uint64_t unit;    /* bytes of a stripe, usually */
};

/* The unit of the layout with this text, which files have where nothing else is said; a usual one when it has none. */
uint64_t room_unit(const char *text);

/* How many of its size bytes a disk keeps back: what was asked for, usually a twentieth of them or 16 units if that is
 * more; never more than a quarter. The home disk, which also has all names, keeps twice as much. */
uint64_t room_reserve(const struct room_rule *rule, uint64_t size, bool is_home);

/* Whether a disk with so many free bytes is left out by new files; was: it has been so far. */
bool room_is_tight(uint64_t reserve, uint64_t size, uint64_t free, bool was);

/* How many bytes may be written before the disks should be asked again (due), and before who writes has to wait for
 * that (overdue). */
struct room_budget {
    uint64_t due, overdue;
};

/* Looks at all disks of a volume that nobody else uses yet: sets what disk.h has of their room. */
struct room_budget room_look(struct volume *volume, const struct room_rule *rule);

/* Draws where in the list of its layout a new file starts, by random bits, so that disks fill evenly. A disk that is
 * left out, or full, is the start only if every disk is. */
uint16_t room_draw_start(const struct volume *volume, const struct file_layout *layout, uint64_t bits);

#endif
