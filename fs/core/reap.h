/* SPDX-License-Identifier: MIT */
/* Files without a name. A file whose last name goes moves into todo/ on the home disk, the list of what must still be
 * removed: a crash finds it there. Its bytes on other disks go only when that move is durable, or a crash could bring
 * back the name without them. Many wait for one sync. */
#ifndef FALLSFS_FS_CORE_REAP_H
#define FALLSFS_FS_CORE_REAP_H

#include "fs/core/fs.h"

#define REAP_NAME (2 * ID_SIZE + 3)

/* The name in todo/ of a file with this record; one that may yet keep its other name has .w behind it. */
void reap_name(const struct record *record, bool waits, char ret_name[static REAP_NAME]);

/* Removes the link in todo/ that a file in use got when the name that led to it went. inode->lock is held. */
void reap_spare(struct fs *fs, struct inode *inode, const struct record *record);

struct reaper;

int reaper_new(struct fs *fs, struct reaper **ret_reaper);
void reaper_free(struct reaper *reaper);

/* Removes the subfiles of a file that lies in todo/ and nobody uses, and then its stub there: at once when an fsync has
 * promised none of its bytes, else some time later. */
void reaper_take(struct reaper *reaper, const struct record *record);

/* Tries again what a disk refused: now and then, by whoever keeps the time. */
void reaper_retry(struct reaper *reaper);

/* Takes everything that todo/ lists and that has no other name; forgets the rest. */
int reaper_take_all(struct reaper *reaper);

#endif
