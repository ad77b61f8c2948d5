/* SPDX-License-Identifier: MIT */
/* What libfuse 3.14 cannot say to the kernel; newer ones have flags for it. It is put into the reply to INIT on its way
 * through, where the kernel offers it:
 *   HANDLE_KILLPRIV_V2      we clear set-user-ID, set-group-ID and capabilities when a file changes, so the kernel need
 *                           not look before each single write whether there is something to clear;
 *   DIRECT_IO_ALLOW_MMAP    what is open for direct I/O may be mapped shared, and sees what others have mapped. */
#ifndef FALLSFS_FS_DAEMON_KERNEL_IO_H
#define FALLSFS_FS_DAEMON_KERNEL_IO_H

#include <stdbool.h>

struct fuse_session;

/* After mounting, before the first request. Without success the kernel goes on as it does for all. heard is called, in
 * a thread that serves, when the kernel has taken the reply and the values of its own that go with it. */
void kernel_io_use(struct fuse_session *session, void (*heard)(void *arg), void *arg);

/* Whether the kernel keeps direct I/O and mappings of one file together. */
bool kernel_io_maps_direct(void);

#endif
