/* SPDX-License-Identifier: MIT */
/* What a copy outside has of its original in a volume besides bytes: owner, mode, ACLs, extended attributes, times.
 *
 *     user::rw- user:ann:rw- group::r-- mask::rw-      the mode of that is 0660: rw- of the group is the mask
 *
 * Where a copy cannot have the ACL its mode is that of the ACL without names, 0640 here: nobody may do more with a copy
 * than with its original. */
#ifndef FALLSFS_FS_CTL_VERBS_DRESS_H
#define FALLSFS_FS_CTL_VERBS_DRESS_H

#include "fs/core/tree/tree.h"

#define DRESS_WHY 512

/* Gives name in dir, a file, a directory or a symlink, all that its original has besides bytes; its owner only when
 * root does it. Returns 0, or the first error, after which the rest is done all the same; ret_why then says in words
 * all that the copy is without. */
int dress(struct fs *fs, struct inode *original, const struct stat *st, int dir, const char *name,
          char ret_why[static DRESS_WHY]);

#endif
