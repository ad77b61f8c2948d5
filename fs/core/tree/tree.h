/* SPDX-License-Identifier: MIT */
/* The names: ns/ on the home disk is the tree that users see, with a stub in place of each file. Mode, owner, times,
 * ACLs and links are the stub's own. Every change of names is one call to the home disk, so it happens or does not. */
#ifndef FALLSFS_FS_CORE_TREE_TREE_H
#define FALLSFS_FS_CORE_TREE_TREE_H

#include "fs/core/stub/in_use.h"

/* Whether users shall not see this name: an NFS client gives such names to what was removed while somebody had it open.
 * On a home disk there, users neither see such names nor make any. */
bool tree_hides(const struct fs *fs, const char *name);

/* Gets the attributes of an inode, as users see them. */
int tree_stat(struct fs *fs, struct inode *inode, struct stat *ret_stat);

/* Looks up a name. This and all that make a name hand out the inode with a reference. */
int tree_lookup(struct fs *fs, struct inode *parent, const char *name, struct inode **ret_inode, struct stat *ret_stat);

/* Makes a regular file; with ret_file also begins to use it, as file_get does. */
int tree_create(struct fs *fs, struct inode *parent, const char *name, mode_t mode, const struct cred *cred,
                struct inode **ret_inode, struct stat *ret_stat, struct file **ret_file);
int tree_mkdir(struct fs *fs, struct inode *parent, const char *name, mode_t mode, const struct cred *cred,
               struct inode **ret_inode, struct stat *ret_stat);
int tree_mknod(struct fs *fs, struct inode *parent, const char *name, mode_t mode, dev_t dev, const struct cred *cred,
               struct inode **ret_inode, struct stat *ret_stat);
int tree_symlink(struct fs *fs, struct inode *parent, const char *name, const char *target, const struct cred *cred,
                 struct inode **ret_inode, struct stat *ret_stat);
int tree_link(struct fs *fs, struct inode *inode, struct inode *parent, const char *name, struct stat *ret_stat);

int tree_unlink(struct fs *fs, struct inode *parent, const char *name);
int tree_rmdir(struct fs *fs, struct inode *parent, const char *name);
int tree_rename(struct fs *fs, struct inode *parent, const char *name, struct inode *new_parent, const char *new_name,
                unsigned flags);

/* Looks at the time that a directory got when a name in it changed: what is written from now on is not older. Not for
 * each file that is made, which would take a tenth longer: there a directory that somebody had just looked at may be a
 * tick newer than what is written next. */
void tree_see_time(struct fs *fs, int dir);

ssize_t tree_read_link(struct fs *fs, struct inode *inode, char *buf, size_t size);

/* Opens a directory for read_dir and seek on the home disk. */
int tree_open_dir(struct fs *fs, struct inode *inode, int *ret_fd);
int tree_sync_dir(struct fs *fs, struct inode *inode);

int tree_chmod(struct fs *fs, struct inode *inode, mode_t mode);
int tree_chown(struct fs *fs, struct inode *inode, uid_t uid, gid_t gid);
int tree_set_times(struct fs *fs, struct inode *inode, const struct timespec times[2]);

/* Clears what a file must not keep when this caller changes it: set-user-ID and set-group-ID bits, capabilities. 1:
 * there were some. */
int tree_drop_privileges(struct fs *fs, struct inode *inode, const struct cred *cred);

/* Notes that somebody has read the file: moves its atime where the mount options of the home disk say so. */
void tree_note_read(struct fs *fs, struct inode *inode);

/* Extended attributes: those of users, of security modules, ACLs; never the record. */
ssize_t tree_get_xattr(struct fs *fs, struct inode *inode, const char *name, void *value, size_t size);
int tree_set_xattr(struct fs *fs, struct inode *inode, const char *name, const void *value, size_t size, int flags,
                   const struct cred *cred);
ssize_t tree_list_xattr(struct fs *fs, struct inode *inode, bool is_root, char *list, size_t size);
int tree_remove_xattr(struct fs *fs, struct inode *inode, const char *name);

/* Texts that we keep with a file or directory where users do not see them; name is behind the prefix. They are the
 * home disk's attributes, so they go where their owner goes. */

/* Gets such a text; -ENODATA: there is none. */
int tree_get_text(struct fs *fs, struct inode *inode, const char *name, char **ret_text);

/* Sets such a text, or with NULL removes it: -ENODATA when there is none. -E2BIG: the home disk has no room for so
 * much. */
int tree_set_text(struct fs *fs, struct inode *inode, const char *name, const char *text);

#endif
