/* SPDX-License-Identifier: MIT */
/* Asks the disks how much room they have, and whether they may be written, and keeps the table of volume/room.h: each
 * second, and when somebody has to know. Who may wait for a disk asks it; others have what it last said. */
#ifndef FALLSFS_FS_CORE_CHANGE_ROOM_WATCH_H
#define FALLSFS_FS_CORE_CHANGE_ROOM_WATCH_H

#include "fs/core/stub/in_use.h"

#include <sys/statvfs.h>

struct room_rule;

/* Begins to keep the table: asks the disks at once. */
int room_new(struct fs *fs, const struct room_rule *rule, struct room **ret_room);
void room_free(struct room *room);

/* Asks each second from here on, in a thread, until room_stop. */
int room_start(struct room *room);
void room_stop(struct room *room);

/* Looks at what the disks last said, after one has said something new or other disks are in the volume. */
void room_note(struct room *room);

/* How many of its size bytes a disk keeps back, as the rule of the mount has it. */
uint64_t room_kept_back(const struct room *room, uint64_t size, bool is_home);

/* Asks the disks now. */
void room_ask(struct room *room);

/* Notes that so many bytes more have been written to files. */
void room_note_written(struct room *room, uint64_t bytes);

/* Finds what one new file can take, and all there is, as space_of_chosen has it: in inode if that is a directory, else
 * at the top. Asks the disks first. */
int room_statfs(struct room *room, struct inode *inode, struct statvfs *ret_statfs);

/* Whether a file of so many bytes can go to another layout, as space_fits has it, after asking the disks: -ENOSPC;
 * -EROFS one of those that it would lie on can only be read. */
int room_check(struct room *room, const struct placed_layout *from, const struct placed_layout *to, uint64_t bytes);

/* bytes: a disk that has no more is full, for who was just refused */
#define ROOM_LOW (UINT64_C(64) << 20)

/* Finds which disks have fewer bytes than low; NULL: none, or nobody knows. */
bool *room_full_disks(const struct fs *fs, uint64_t low);

#endif
