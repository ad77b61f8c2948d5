/* SPDX-License-Identifier: MIT */
/* Files on their way to another layout, listed so that a crash finds them without a look at all files: each stub has
 * another link, todo/ID.g, from before its record says so until nothing is left to be done. Users do not see it. */
#ifndef FALLSFS_FS_CORE_STUB_JOURNAL_H
#define FALLSFS_FS_CORE_STUB_JOURNAL_H

#include "fs/core/stub/in_use.h"

/* Lists a file in the journal, durably. */
int journal_add(struct fs *fs, struct inode *inode, const struct record *record);

/* Takes a file out of the journal. The link there may be the last name of its inode. */
int journal_drop(struct fs *fs, struct inode *inode, const struct record *record);

#endif
