/* SPDX-License-Identifier: MIT */
/* What the kernel remembers of files, and is told to forget. It waits for whoever is at work on a page, and has us
 * write: so whoever tells it holds no lock, and most threads stay free to serve it. */
#ifndef FALLSFS_FS_DAEMON_SERVE_KERNEL_CACHE_H
#define FALLSFS_FS_DAEMON_SERVE_KERNEL_CACHE_H

#include "fs/daemon/serve/handle.h"

/* Has the kernel forget the attributes of a file, so that it asks anew. Waits for nobody. */
void kernel_forgets_attributes(const struct inode *inode);

/* Clears the privileges of a file that is going to be changed, and has the kernel forget its attributes: it believes
 * the old mode until it is told. Waits for no pages. */
int drop_privileges(const struct handle *handle, const struct cred *cred);

/* Has the kernel write back what was changed of that part of a file in its cache, and forget it. Called without locks:
 * the kernel waits for whoever is at work on a page, and has us write. */
void forget_cached(const struct handle *handle, uint64_t lo, uint64_t hi);

/* Has the kernel know that a file is at least so long, before the forget_cached that follows. To be forgotten and asked
 * for anew is not enough for a size: of an answer that crosses another forgetting the kernel takes nothing, and a read
 * that relied on it ends where the file ended before. */
void kernel_learns_end(const struct handle *handle, uint64_t end);

/* A file may become shorter. */
void kernel_end_changes(struct inode *inode);

/* To be called around forget_cached in a request: most threads must be free to serve what the kernel waits for. When
 * the request may not wait, it ends with what request_later says, and is run again. */
bool request_may_wait(void);
void request_has_waited(void);
ssize_t request_later(void);

/* Has the kernel forget a part of a file, for page_races.c, which notes what is forgotten itself. */
void kernel_forgets(const struct inode *inode, uint64_t lo, uint64_t hi);

/* Has the kernel forget a name in a directory, and what is below it. */
void kernel_forgets_name(uint64_t parent, const char *name);

/* Whether a thread is telling the kernel to forget something, and may be waiting for a page that another request holds.
 */
bool kernel_is_forgetting(void);

/* Has nobody tell the kernel to forget anything from now on: nobody serves what that would wait for. Returns whether a
 * thread that has begun earlier still does, as kernel_is_forgetting. */
bool kernel_forgets_no_more(void);

#endif
