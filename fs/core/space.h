/* SPDX-License-Identifier: MIT */
/* How much there is room for. Disks may share a file system, and a file takes of each disk the share its layout gives
 * it, so what one new file can take is less than what all disks have together. */
#ifndef FALLSFS_FS_CORE_SPACE_H
#define FALLSFS_FS_CORE_SPACE_H

#include "fs/core/fs.h"

/* f_bavail is what one new file can take, in inode if that is a directory, else at the top; f_blocks and f_bfree count
 * every file system once. */
int space_statfs(struct fs *fs, struct inode *inode, struct statvfs *ret_statfs);

/* The same for a file of that choice, wherever it starts. ret_limit, unless NULL: a disk on the file system that says
 * how much that one file can take; UINT32_MAX when none does. */
int space_of_choice(const struct volume *volume, const struct choice *choice, struct statvfs *ret_statfs,
                    uint32_t *ret_limit);

/* Whether the disks have room for what a file of so many bytes does not have in its place already, as far as they tell.
 */
bool space_has_room(struct fs *fs, const struct laying *from, const struct laying *to, uint64_t bytes);

/* Bytes that a disk has free for us, as far as it tells. */
uint64_t space_left(const struct disk *disk);

/* Asks all disks, to have an answer when one has none. */
void space_note(struct fs *fs);

#endif
