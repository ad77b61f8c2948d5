/* SPDX-License-Identifier: MIT */
/* What there is to know and to do about the place of a mount, apart from FUSE. */
#ifndef FALLSFS_FS_DAEMON_MOUNTPOINT_H
#define FALLSFS_FS_DAEMON_MOUNTPOINT_H

#include "layout/base.h"

/* Unmounts what a killed fallsfs left at path: a mount of ours that nobody serves. 0 also when there is none. */
int mountpoint_clean(const char *path);

/* Lets the kernel read ahead so many bytes on the mount at path; without the right to do so nothing happens. */
void mountpoint_set_read_ahead(const char *path, uint32_t bytes);

#endif
