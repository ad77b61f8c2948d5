/* SPDX-License-Identifier: MIT */
/* Keeps the copies of records up to date, in the background: whoever changes a record, or a name, says so here. */
#ifndef FALLSFS_FS_CORE_TREE_COPIER_H
#define FALLSFS_FS_CORE_TREE_COPIER_H

#include "fs/core/stub/in_use.h"

struct copier;

int copier_new(struct fs *fs, struct copier **ret_copier);
void copier_free(struct copier *copier);

/* Tells the copier that the copy of the record of this regular file is out of date. */
void copier_take(struct copier *copier, struct inode *inode);

#endif
