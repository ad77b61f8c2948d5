/* SPDX-License-Identifier: MIT */
/* Replies to the kernel: all leave through here. An operation decodes, acts through fs/core, replies once. */
#ifndef FALLSFS_FS_DAEMON_SERVE_REPLY_H
#define FALLSFS_FS_DAEMON_SERVE_REPLY_H

#include "fs/daemon/serve/mount.h"

/* Each replies to a request. r is 0 or -errno: with an error nothing but that is told. An inode is handed over: its
 * reference becomes the kernel's, or is dropped. */
void reply_status(fuse_req_t req, int r);
void reply_entry(fuse_req_t req, int r, struct inode *inode, const struct stat *st);
void reply_attr(fuse_req_t req, int r, const struct stat *st);
void reply_created(fuse_req_t req, struct inode *inode, const struct stat *st, const struct fuse_file_info *fi);
void reply_directory(fuse_req_t req, const struct fuse_file_info *fi);
void reply_bytes(fuse_req_t req, const void *bytes, size_t n);
void reply_count(fuse_req_t req, size_t n); /* of bytes written */
void reply_offset(fuse_req_t req, int64_t off);
void reply_statfs(fuse_req_t req, int r, const struct statvfs *st);
void reply_xattr_size(fuse_req_t req, size_t n);
void reply_link(fuse_req_t req, const char *target);
void reply_opened(fuse_req_t req, struct inode *inode, const struct fuse_file_info *fi);

/* An entry as the kernel takes it. */
struct fuse_entry_param entry_of(const struct inode *inode, const struct stat *st);

/* Each replies with what is no inode: views, texts. False: the kernel has not taken the reply, and holds nothing. */
bool reply_other(fuse_req_t req, const struct fuse_entry_param *entry);
void reply_other_attr(fuse_req_t req, const struct stat *st);
bool reply_other_opened(fuse_req_t req, const struct fuse_file_info *fi);

void reply_none(fuse_req_t req);
void reply_poll(fuse_req_t req, unsigned events);
void reply_ioctl(fuse_req_t req, const void *out, size_t size);

/* -- where deadlines_may_reply has said that this thread may, or another thread answers in its place -- */

/* Each replies with n bytes, of memory or from a pipe. False: the kernel has not taken them. */
bool reply_claimed(fuse_req_t req, const void *bytes, size_t n);
bool reply_pipe(fuse_req_t req, int fd, size_t n);

/* Replies to an ioctl that came then, by clock_ns, and has waited for others. */
void reply_waiter(fuse_req_t req, uint64_t began, int r, const void *out, size_t size);
void reply_error(fuse_req_t req, int error);

#endif
