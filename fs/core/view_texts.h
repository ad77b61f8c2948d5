/* SPDX-License-Identifier: MIT */
/* The views that a file has by name. They are kept with the file as one text, so they go where it goes. */
#ifndef FALLSFS_FS_CORE_VIEW_TEXTS_H
#define FALLSFS_FS_CORE_VIEW_TEXTS_H

#include "fs/core/tree.h"

#define VIEW_MAX_NAME 255

/* Letters, digits, and "._-+=@,:" ; not "." and "..". */
bool view_name_is_valid(const char *name);

/* What was set. -ENODATA the file has no such view. */
int view_texts_get(struct fs *fs, struct inode *inode, const char *name, char **ret_text);

/* Sets it, or with NULL removes it: -ENODATA when there is none. -E2BIG the home disk has no room for so much. */
int view_texts_set(struct fs *fs, struct inode *inode, const char *name, const char *text);

/* Calls visit with each name until it returns false. -ENODATA there are none. */
int view_texts_visit(struct fs *fs, struct inode *inode, bool (*visit)(void *arg, const char *name), void *arg);

#endif
