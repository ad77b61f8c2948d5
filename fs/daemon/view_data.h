/* SPDX-License-Identifier: MIT */
/* Reading and writing through views on the mount. What the kernel has of the file in its cache is kept right: what was
 * written there through a mapping goes out before an access, what an access has changed is forgotten after it.
 * The view's own bytes are never in the kernel's cache, but for mappings of it. */
#ifndef FALLSFS_FS_DAEMON_VIEW_DATA_H
#define FALLSFS_FS_DAEMON_VIEW_DATA_H

#include "fs/daemon/keeper.h"

/* What keeper_run runs for a handle that has a view. */
ssize_t view_data_read(struct request *request, void *buf);
ssize_t view_data_write(struct request *request);

#endif
