/* SPDX-License-Identifier: MIT */
/* What libfuse 3.14 cannot say to the kernel. HANDLE_KILLPRIV_V2: we clear set-user-ID, set-group-ID and capabilities
 * when a file changes, so the kernel need not look before each single write whether there is something to clear. The
 * bit is put into the reply to INIT on its way through; newer libfuse has a flag for it. */
#ifndef FALLSFS_FS_DAEMON_KERNEL_IO_H
#define FALLSFS_FS_DAEMON_KERNEL_IO_H

struct fuse_session;

/* After mounting, before the first request. Without success the kernel goes on clearing them itself. */
void kernel_io_use(struct fuse_session *session);

#endif
