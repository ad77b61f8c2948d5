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
#ifndef FALLSFS_FS_CORE_TREE_DEFAULTS_H
#define FALLSFS_FS_CORE_TREE_DEFAULTS_H

#include "fs/core/stub/in_use.h"

/* A rule: files whose name matches, as the shell has patterns, get this layout. */
struct layout_rule {
    char *match, *layout;
    char *where; /* file and line that the rule is from; NULL: the command line */
};

struct defaults;

/* Makes the defaults of a mount; whole is the layout of files for which there is no other. -EINVAL and others as
 * layouts_add; ret_error says why. */
int defaults_new(struct fs *fs, const struct layout_rule *whole, const struct layout_rule *rule, uint32_t n_rules,
                 struct defaults **ret_defaults, struct volume_error *ret_error);
void defaults_free(struct defaults *defaults);

/* Finds out anew what the layouts that were typed mean, after other disks take new bytes. -ENODEV: the default, or a
 * rule, names no disk any more. */
int defaults_refresh(struct fs *fs, struct volume_error *ret_error);

/* Finds the layout that a new file called name in this directory gets, with a reference. */
int defaults_choose(struct fs *fs, struct inode *dir, const char *name, struct chosen_layout *ret_choice);

/* Finds the layout that a new file in this directory would get if no rule had its name, whether or not there is room
 * for the text: the layout is the caller's, to be freed. */
int defaults_plan(struct fs *fs, struct inode *dir, struct chosen_layout *ret_choice);

/* Finds the directory that new files in dir have their layout from, with a reference; NULL: none, so it is that of a
 * rule or of the mount. */
int defaults_origin(struct fs *fs, struct inode *dir, struct inode **ret_origin);

/* Gets the layout that a directory has of its own, as it was typed; -ENODATA: it has none. */
int defaults_get(struct fs *fs, struct inode *dir, char **ret_text);

/* Gives a directory a layout of its own, or takes it away. Errors as layouts_add; -E2BIG: the home disk has no room for
 * so long a text; -ENXIO: one of its disks is not there. */
int defaults_set(struct fs *fs, struct inode *dir, const char *text, struct layout_error *ret_error);
int defaults_remove(struct fs *fs, struct inode *dir);

#endif
