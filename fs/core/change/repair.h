/* SPDX-License-Identifier: MIT */
/* Files that have lost a part are made whole from what is left: a disk fails, or a subfile is missing or short, and the
 * second copy, or a replica, has the bytes.
 *
 *     the disk fails       the file gets a layout of the same kind without it     by a job, which reads what is left
 *     a subfile is lost    the file gets the layout that it has, anew             by a job
 *     a replica's is lost  the replica lacks all of it                            and is filled again
 */
#ifndef FALLSFS_FS_CORE_CHANGE_REPAIR_H
#define FALLSFS_FS_CORE_CHANGE_REPAIR_H

#include "fs/core/stub/in_use.h"

/* Finds the layout, and the start in its list of disks, that a file is to get to be whole again. layout NULL: nothing
 * of it is lost. Errors as membership_choose. */
int repair_choose(struct fs *fs, struct inode *inode, struct file_layout **ret_layout, uint32_t *ret_start,
                  struct layout_error *ret_error);

#endif
