/* SPDX-License-Identifier: MIT */
/* What there is to know and to do about the place of a mount, apart from FUSE. */
#ifndef FALLSFS_FS_DAEMON_MOUNTPOINT_H
#define FALLSFS_FS_DAEMON_MOUNTPOINT_H

#include "layout/base.h"

/* Makes the path absolute and free of links, after unmounting what a killed fallsfs left there: a mount of ours that
 * nobody serves. -EPERM when that cannot be unmounted, -ENOTDIR, -ENOENT and others when nothing can be mounted there.
 */
int mountpoint_resolve(char **path);

/* Lets the kernel read ahead so many bytes on the mount at path, as soon as the mount is served; without the right to
 * do so nothing happens. Starts a thread, so not before daemonizing. */
void mountpoint_set_read_ahead(const char *path, uint32_t bytes);

#endif
