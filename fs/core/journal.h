/* SPDX-License-Identifier: MIT */
/* Files on their way to another layout, listed so that a crash finds them without a look at all files: each stub has
 * another link, todo/ID.g, from before its record says so until nothing is left to be done. Users do not see it. */
#ifndef FALLSFS_FS_CORE_JOURNAL_H
#define FALLSFS_FS_CORE_JOURNAL_H

#include "fs/core/file.h"
#include "fs/core/reap.h"

void journal_name(const struct record *record, char ret_name[static REAP_NAME]);

/* Whether a name in todo/ is one of these. */
bool journal_is_name(const char *name);

/* Durable when it returns. */
int journal_add(struct fs *fs, struct file *file);

/* The inode may have no other name left. */
int journal_drop(struct fs *fs, struct inode *inode, const struct record *record);

/* How many links in todo/ a file may have one of whose is called so; 1 when the name tells nothing. */
nlink_t journal_links_in_todo(struct fs *fs, const char *name);

/* After a crash, before todo/ is emptied: files that have lost all other names are not listed any more. */
int journal_forget_gone(struct fs *fs);

/* Calls take for each file that is listed; the inode with a reference, which it takes. */
int journal_visit(struct fs *fs, int (*take)(void *arg, struct inode *inode), void *arg);

#endif
