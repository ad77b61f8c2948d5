/* SPDX-License-Identifier: MIT */
/* The views that a file has by name. They are kept with the file as one text, so they go where it goes. */
#ifndef FALLSFS_FS_CORE_VIEW_VIEW_TEXTS_H
#define FALLSFS_FS_CORE_VIEW_VIEW_TEXTS_H

#include "fs/core/tree/tree.h"

#define VIEW_MAX_NAME 255

/* Whether a view may have this name: letters, digits and any of "._-+=@,:", but not "." or "..". */
bool view_name_is_valid(const char *name);

/* Gets the text of a view, as it was set. -ENODATA: the file has no such view. */
int view_texts_get(struct fs *fs, struct inode *inode, const char *name, char **ret_text);

/* Sets the text of a view, or with NULL removes the view: -ENODATA when there is none. -E2BIG: the home disk has no
 * room for so much. */
int view_texts_set(struct fs *fs, struct inode *inode, const char *name, const char *text);

/* Calls visit with the name of each view until visit returns false. -ENODATA: the file has none. */
int view_texts_visit(struct fs *fs, struct inode *inode, bool (*visit)(void *arg, const char *name), void *arg);

#endif
