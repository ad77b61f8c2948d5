/* SPDX-License-Identifier: MIT */
/* The groups of a mount, as far as whoever asks may see them: his own, or for root all. */
#ifndef FALLSFS_FS_CTL_ASK_GROUPS_H
#define FALLSFS_FS_CTL_ASK_GROUPS_H

#include "fs/ctl/ask/attrs.h"
#include "ioctl/fallsfs_ioctl.h"

struct groups {
    struct fallsfs_ioc_groups *group;
    size_t n;
};

/* Asks through a regular file, for its groups, or through a directory, for all of its mount. -ENOTTY: it is neither, or
 * the daemon knows nothing of groups. It waits for as long as the daemon takes. */
int groups_ask(const char *path, struct groups *ret_groups);

/* Asks for all groups of the mount at target, which is not waited for longer than inquiry_patience. */
int groups_get(const char *target, struct groups *ret_groups, char ret_why[static ATTRS_WHY]);
void groups_done(struct groups *groups);

#endif
