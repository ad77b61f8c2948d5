/* SPDX-License-Identifier: MIT */
/* Texts below .falls of a mount, which may not answer. */
#ifndef FALLSFS_FS_CTL_ASK_MOUNT_TEXT_H
#define FALLSFS_FS_CTL_ASK_MOUNT_TEXT_H

#include "fs/ctl/ask/attrs.h"

/* Reads .falls/NAME of the mount at target, of max bytes at most, into a text to be freed. It is not waited for longer
 * than inquiry_patience; on failure ret_why says why. */
int mount_text_get(const char *target, const char *name, size_t max, char **ret_text, char ret_why[static ATTRS_WHY]);

#endif
