/* SPDX-License-Identifier: MIT */
/* Which mount a verb is about that looks at one: the one that is named, or the only one there is. */
#ifndef FALLSFS_FS_CTL_ASK_WHICH_MOUNT_H
#define FALLSFS_FS_CTL_ASK_WHICH_MOUNT_H

#include "fs/ctl/ask/attrs.h"

/* Finds where the mount is that a path lies in; NULL for the path: the only mount of this machine. No mount is asked.
 * On failure ret_why says why. */
int which_mount(const char *path, char **ret_target, char ret_why[static ATTRS_WHY]);

#endif
