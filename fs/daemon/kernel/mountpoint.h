/* SPDX-License-Identifier: MIT */
/* What there is to know and to do about the place of a mount, apart from FUSE. */
#ifndef FALLSFS_FS_DAEMON_KERNEL_MOUNTPOINT_H
#define FALLSFS_FS_DAEMON_KERNEL_MOUNTPOINT_H

#include "layout/base.h"

#include <sys/types.h>

/* Makes the path absolute and free of links, after unmounting what a killed fallsfs left there: a mount of ours that
 * nobody serves. -EPERM when that cannot be unmounted, -ENOTDIR, -ENOENT and others when nothing can be mounted there.
 */
int mountpoint_resolve(char **path);

/* Lets the kernel read ahead so many bytes on the mount at path, -EACCES without the right to do so. When it hears the
 * first answer it takes a smaller value that this says. */
int mountpoint_set_read_ahead(const char *path, uint32_t bytes);

/* Has the kernel follow no symlinks that lie in the mount. -EPERM without the right to do so, -EINVAL before 5.14. */
int mountpoint_follow_no_links(const char *path);

/* Has umount(8) run our helper, whatever way it takes to find it: a mount that nothing more is known of than that it is
 * FUSE's, it would unmount by itself. Where that cannot be written down nothing happens. */
void mountpoint_name_helper(const char *path);

/* The device number of the mount of ours at path; false when there is none. The mount itself is not asked. */
bool mountpoint_device(const char *path, dev_t *ret_dev);

/* Ends the connection of the mount at path, if it still has that device number: all who wait for its daemon are told.
 * The mount stays, dead. Without the right to do so nothing happens. */
void mountpoint_abort(const char *path, dev_t dev);

#endif
