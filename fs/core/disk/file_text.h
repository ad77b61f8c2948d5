/* SPDX-License-Identifier: MIT */
/* Small files below .fallsfs that are replaced as a whole: stamps and layouts. */
#ifndef FALLSFS_FS_CORE_DISK_FILE_TEXT_H
#define FALLSFS_FS_CORE_DISK_FILE_TEXT_H

#include "fs/core/disk/disk.h"

/* Reads a whole file; the text ends with a NUL that len does not count. -EUCLEAN: it is no regular file, or longer than
 * max. */
int file_text_read(const struct disk *disk, const char *path, size_t max, char **ret_text, size_t *ret_len);

/* Replaces a file: writes path.new, syncs it, renames it to path, syncs the directory. After a crash there is the old
 * text or the new one, never neither. */
int file_text_replace(const struct disk *disk, const char *path, const char *text, size_t len);

/* Syncs a directory below .fallsfs. */
int file_text_sync_dir(const struct disk *disk, const char *path);

#endif
