/* SPDX-License-Identifier: MIT */
/* Small files below .fallsfs that are replaced as a whole: stamps and layouts. */
#ifndef FALLSFS_FS_CORE_FILE_TEXT_H
#define FALLSFS_FS_CORE_FILE_TEXT_H

#include "fs/core/disk.h"

/* -EUCLEAN for what is not a regular file or longer than max. The text ends with a NUL that len does not count. */
int file_text_read(const struct disk *disk, const char *path, size_t max, char **ret_text, size_t *ret_len);

/* Writes path.new, syncs it, renames it to path, syncs the directory: the old text or the new, never neither. */
int file_text_replace(const struct disk *disk, const char *path, const char *text, size_t len);

/* Syncs a directory below .fallsfs. */
int file_text_sync_dir(const struct disk *disk, const char *path);

#endif
