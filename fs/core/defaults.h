/* SPDX-License-Identifier: MIT */
/* What new files are laid out by: the nearest directory above that has a layout of its own, else the first rule for
 * their names, else the mount's.
 *
 *     /                        stripe(1M)         the mount's
 *     /runs                    stripe(4M)         set here, kept as typed in an attribute of the directory
 *     /runs/7/a.dat            stripe(4M)         inherited when it is made; /runs/7 need not know
 *
 * An inode remembers whether its directory has one, so that making a file asks no disk; renamed directories take what
 * they have along, as what is above is looked for anew each time. */
#ifndef FALLSFS_FS_CORE_DEFAULTS_H
#define FALLSFS_FS_CORE_DEFAULTS_H

#include "fs/core/fs.h"

/* Files called so, as the shell has patterns. */
struct layout_rule {
    char *match, *layout;
};

struct defaults;

/* -EINVAL and others as layouts_add; ret_error says why. */
int defaults_new(struct fs *fs, const struct fs_options *options, struct defaults **ret_defaults,
                 struct volume_error *ret_error);
void defaults_free(struct fs *fs, struct defaults *defaults);

/* Other disks take new bytes now: what was typed may mean something else. -ENODEV a default or a rule means none. */
int defaults_refresh(struct fs *fs, struct volume_error *ret_error);

/* What one called name in this directory is laid out by, with a reference to the layout. */
int defaults_choose(struct fs *fs, struct inode *dir, const char *name, struct choice *ret_choice);

/* The directory it is from, with a reference; NULL: none, so a rule's or the mount's. */
int defaults_origin(struct fs *fs, struct inode *dir, struct inode **ret_origin);

/* The directory's own, as typed; -ENODATA. */
int defaults_get(struct fs *fs, struct inode *dir, char **ret_text);

/* Errors as layouts_add; -E2BIG the home disk has no room for so long a text, -ENXIO one of its disks is not there. */
int defaults_set(struct fs *fs, struct inode *dir, const char *text, struct layout_error *ret_error);
int defaults_remove(struct fs *fs, struct inode *dir);

#endif
