/* SPDX-License-Identifier: MIT */
/* Reading and writing through views on the mount. What the kernel has of the file in its cache is kept right: what was
 * written there through a mapping goes out before an access, what an access has changed is forgotten after it.
 * The view's own bytes are never in the kernel's cache, but for mappings of it. */
#ifndef FALLSFS_FS_DAEMON_VIEW_VIEW_DATA_H
#define FALLSFS_FS_DAEMON_VIEW_VIEW_DATA_H

#include "fs/daemon/serve/deadlines.h"

/* Reads and writes through the view of a handle that has one. REQUEST_ELSEWHERE: too many of the threads that serve the
 * kernel wait for it already. */
ssize_t view_data_read(const struct handle *handle, void *buf, size_t size, uint64_t off);
ssize_t view_data_write(const struct handle *handle, const void *data, size_t size, uint64_t off);

#endif
