/* SPDX-License-Identifier: MIT */
/* The copy of a record (stub/copy.h) of a file that is in use. */
#ifndef FALLSFS_FS_CORE_FILE_FILE_COPY_H
#define FALLSFS_FS_CORE_FILE_FILE_COPY_H

#include "fs/core/file/file.h"
#include "fs/core/stub/copy.h"

/* Writes the copy of a file's record as the stub has it now; an empty file loses the copy it may have. When the copy
 * lies on another disk than before, the former one is removed. */
int file_copy_write(struct fs *fs, struct file *file);

/* Makes the copy durable, if it was written since the last time. */
void file_copy_sync(struct fs *fs, struct file *file);

/* Finds the copy of a file's record, wherever it lies; -ENOENT. */
int file_copy_find(struct fs *fs, struct file *file, struct copy *ret_copy);

/* Prepares for the removal of subfiles of older generations: the copies that told of those are removed, all but the one
 * that lies where it belongs now. After a migration that one is written first. Errors are passed over. */
void file_copy_follow(struct fs *fs, struct file *file, const struct file_layout *old_layout);

/* Removes the copies of a file that has no bytes. */
int file_copy_drop(struct fs *fs, struct file *file);

#endif
