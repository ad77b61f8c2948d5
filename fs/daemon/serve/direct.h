/* SPDX-License-Identifier: MIT */
/* Writes past the kernel's pages beside reads through them. The kernel forgets what it has of a part before it sends
 * such a write, and not after it:
 *
 *     pages forgotten ── page read again ── write served: page forgotten once more
 *
 * Else that page keeps the bytes from before the write. So reads of pages are noted as long as somebody has the file
 * open to write so, and who meets one has its part forgotten before the reply. */
#ifndef FALLSFS_FS_DAEMON_SERVE_DIRECT_H
#define FALLSFS_FS_DAEMON_SERVE_DIRECT_H

#include "fs/daemon/serve/handle.h"

struct fuse_file_info;

/* Counts a handle that has been opened, and one that is closed. */
void direct_begin(const struct handle *handle);
void direct_end(const struct handle *handle);

/* Whether a request to read or write passes by the kernel's pages. */
bool direct_is(const struct fuse_file_info *fi);

/* Notes that a part of a file is going to be read for the kernel's pages. */
void direct_page_read(struct inode *inode);

/* Whether the kernel may have pages from before a write past them, which has just been served. */
bool direct_meets_pages(const struct handle *handle);

#endif
