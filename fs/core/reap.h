/* SPDX-License-Identifier: MIT */
/* Files without a name. While a file is open its stub waits in todo/, a directory on the home disk that is the list of
 * what must still be removed: a crash finds it there. */
#ifndef FALLSFS_FS_CORE_REAP_H
#define FALLSFS_FS_CORE_REAP_H

#include "fs/core/fs.h"

#define REAP_NAME (2 * ID_SIZE + 1)

/* The name in todo/ of a file with this record. */
void reap_name(const struct record *record, char ret_name[static REAP_NAME]);

/* Removes the subfiles of a file and then its stub in todo/. */
int fs_reap(struct fs *fs, const struct record *record);

/* Removes everything that todo/ lists and that has no other name; forgets the rest. */
int fs_reap_all(struct fs *fs);

#endif
