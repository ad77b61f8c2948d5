/* SPDX-License-Identifier: MIT */
/* Pages that the kernel read again soon after it had been told to forget them. It copies a write into its page first
 * and sends it to us then; when the page is forgotten in between, and another process's read fetches it before we serve
 * the write, the page lacks bytes that the file has, for good.
 *
 *     write copied into its page ── page forgotten ── page read again ── write served: page forgotten once more
 *
 * So forgetting and reading are noted here, and a write that meets such a read settles it before it is replied to. */
#ifndef FALLSFS_FS_DAEMON_REFILLS_H
#define FALLSFS_FS_DAEMON_REFILLS_H

#include "fs/daemon/handle.h"

/* Before the kernel is told to forget a part of a file; says when, for what is said once it has forgotten. */
uint32_t refills_forget(struct inode *inode);
void refills_forgotten(const struct inode *inode, uint64_t lo, uint64_t hi, uint32_t since);

/* Before a part of a file is read for the kernel's pages. */
void refills_read(struct inode *inode, uint64_t off, uint64_t len);

/* After a write that came through the kernel's pages, before its reply. */
void refills_settle(struct handle *handle, uint64_t off, uint64_t len);

#endif
