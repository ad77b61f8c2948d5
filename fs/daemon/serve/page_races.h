/* SPDX-License-Identifier: MIT */
/* Pages that the kernel read again soon after it had been told to forget them. It copies a write into its page first
 * and sends it to us then; when the page is forgotten in between, and another process's read fetches it before we serve
 * the write, the page lacks bytes that the file has, for good.
 *
 *     write copied into its page ── page forgotten ── page read again ── write served: page forgotten once more
 *
 * So forgetting and reading are noted here, and a write that meets such a read has its page
 * forgotten once more before it is replied to. */
#ifndef FALLSFS_FS_DAEMON_SERVE_PAGE_RACES_H
#define FALLSFS_FS_DAEMON_SERVE_PAGE_RACES_H

#include "fs/daemon/serve/handle.h"

/* To be called before and after the kernel is told to forget a part of a file. page_races_forget says when it was,
 * which page_races_forgotten is to be told. */
uint32_t page_races_forget(struct inode *inode);
void page_races_forgotten(const struct inode *inode, uint64_t lo, uint64_t hi, uint32_t since);

/* Notes that a part of a file is going to be read for the kernel's pages. */
void page_races_read(struct inode *inode, uint64_t off, uint64_t len);

/* Has the kernel forget the pages that such a read has fetched, if a write that came through the kernel's pages meets
 * any. To be called before the write is replied to. */
void page_races_mend(struct handle *handle, uint64_t off, uint64_t len);

#endif
