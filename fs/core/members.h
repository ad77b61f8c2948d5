/* SPDX-License-Identifier: MIT */
/* Disks join a file system in use, and leave it: what volume.h does to their list, and what follows for files.
 *
 *     join     the list of disks ──> texts of layouts ──> what new files are laid out by
 *     leave    nothing new goes there ──> each file gets a layout without the disk, by a job ──> the list of disks */
#ifndef FALLSFS_FS_CORE_MEMBERS_H
#define FALLSFS_FS_CORE_MEMBERS_H

#include "fs/core/fs.h"

/* As volume_add_disk. */
int members_add(struct fs *fs, const struct member *member, uint32_t *ret_index, struct volume_error *ret_error);

/* As volume_set_leaving; also -ENODEV the default layouts name no disk but those that leave. */
int members_set_leaving(struct fs *fs, uint32_t index, bool leaves, struct volume_error *ret_error);

/* As volume_drop_disk; -EBUSY also when so many files could get bytes there: are laid out so, or on their way to it. */
int members_drop(struct fs *fs, uint32_t index, const struct member *member, uint64_t *ret_left,
                 struct volume_error *ret_error);

/* The text of a layout that is as like the one a file has as can be, but without disks that take nothing new, and this
 * one. They are replaced by ones that the file does not use yet, or, where there are none, left out and the bytes dealt
 * anew over the others; or, when there is no room for that, given to the others as they are. NULL: it has none of
 * these.
 */
int members_text_without(struct fs *fs, struct inode *inode, uint32_t disk, char **ret_text);

/* That layout for a file that must move, with no disk but those that take nothing; layout NULL: it need not. Errors as
 * layouts_plan and layouts_keep_if_there. */
int members_choose(struct fs *fs, struct inode *inode, struct choice *ret_choice, struct layout_error *ret_error);

#endif
