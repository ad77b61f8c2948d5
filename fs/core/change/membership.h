/* SPDX-License-Identifier: MIT */
/* Disks join a file system in use, and leave it: what volume.h does to their list, and what follows for files.
 *
 *     join     the list of disks ──> texts of layouts ──> what new files are laid out by
 *     leave    nothing new goes there ──> each file gets a layout without the disk, by a job ──> the list of disks */
#ifndef FALLSFS_FS_CORE_CHANGE_MEMBERSHIP_H
#define FALLSFS_FS_CORE_CHANGE_MEMBERSHIP_H

#include "fs/core/stub/in_use.h"

/* Takes a disk into the volume; arguments and errors as volume_add_disk. */
int membership_add(struct fs *fs, const struct member *member, uint32_t *ret_index, struct volume_error *ret_error);

/* Makes a disk begin to leave, or stay after all; errors as volume_set_leaving, and -ENODEV when the default layouts
 * name no disk but those that leave. */
int membership_set_leaving(struct fs *fs, uint32_t index, bool leaves, struct volume_error *ret_error);

/* Ends the leaving of a disk; errors as volume_drop_disk, and -EBUSY also when *ret_left files could get bytes there:
 * they have a layout with the disk, or are on their way to one. */
int membership_drop(struct fs *fs, uint32_t index, const struct member *member, uint64_t *ret_left,
                    struct volume_error *ret_error);

/* Drops the replicas of a file that are to have something on a disk that takes nothing new: the file has their bytes.
 * Second copies go with the layout. *ret_stays: something that the map tells of is still to go from there. */
int membership_drop_replicas(struct fs *fs, struct inode *inode, bool *ret_stays);

/* Gives the text of the layout that a file would get if this disk left, too: of the same kind, with other disks in
 * place of those that take nothing new, as relocation.h chooses them. NULL: it need not move. -ENOSPC: no disk has
 * room. */
int membership_text_without(struct fs *fs, struct inode *inode, uint32_t disk, char **ret_text);

/* Chooses a layout, and a start in its list of disks, for a file that must move: one with no disk but those that take
 * something. layout NULL: it need not move. Errors as layouts_plan and layouts_keep_if_there, and -ENOSPC. */
int membership_choose(struct fs *fs, struct inode *inode, struct file_layout **ret_layout, uint32_t *ret_start,
                      struct layout_error *ret_error);

/* Gives the layout that a relocation means, with a reference; errors as layouts_plan and layouts_keep_if_there. */
struct relocation;
int membership_lay_out(struct fs *fs, const struct relocation *relocation, struct file_layout **ret_layout,
                       struct layout_error *ret_error);

#endif
