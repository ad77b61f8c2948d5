/* SPDX-License-Identifier: MIT */
/* What the files of operations share. */
#ifndef FALLSFS_FS_DAEMON_OPS_OPS_H
#define FALLSFS_FS_DAEMON_OPS_OPS_H

#include "fs/daemon/serve/kernel_cache.h"
#include "fs/daemon/serve/mount.h"
#include "fs/daemon/serve/reply.h"

struct virtual_call;

/* Makes a virtual_call, of who asks about an attribute that is ours, and about what; why has LAST_ERROR_SIZE bytes. */
struct virtual_call virtual_call_of(fuse_req_t req, struct inode *inode, char *why);

/* Sets the atime and mtime as a setattr asks, where it sets any: to now, or to what is given. */
int set_times(struct inode *inode, const struct stat *attr, int to_set);

/* Makes a handle for a file that is opened, and takes over what handle_new does. */
int open_file(fuse_req_t req, struct inode *inode, struct file *file, const struct handle_view *view,
              struct fuse_file_info *fi);

/* Charges who asks for a handle. -ENFILE: too much is open. */
int charge_handle(fuse_req_t req, struct handle *handle);

/* Keeps why a request was refused, for lasterror of the file when the same user asks. */
void note_why(fuse_req_t req, const struct inode *inode, const char *why);

/* Keeps, for lasterror of the file, that the user has as many views open as he may. */
void note_too_many_views(fuse_req_t req, const struct inode *inode);

/* The operations, by what they work on. */
void ops_add_names(struct fuse_lowlevel_ops *ops);
void ops_add_attr(struct fuse_lowlevel_ops *ops);
void ops_add_data(struct fuse_lowlevel_ops *ops);
void ops_add_dir(struct fuse_lowlevel_ops *ops);
void ops_add_ioctl(struct fuse_lowlevel_ops *ops);

/* Takes what is asked about views from the operations added before, and from the root the name that leads to them. To
 * be called after those above. */
void ops_add_views(struct fuse_lowlevel_ops *ops);

/* Takes what is asked about the texts that lie beside the views. To be called after ops_add_views. */
void ops_add_texts(struct fuse_lowlevel_ops *ops);

/* Takes what is asked about the trace from the texts. To be called after ops_add_texts. */
void ops_add_trace(struct fuse_lowlevel_ops *ops);

/* Whether a number is a text's; the name of text i, counted from 0, or NULL; the number of the text with a name, or 0;
 * replying with a text. */
bool text_is(fuse_ino_t ino);
const char *text_name(uint32_t i);
fuse_ino_t text_find(const char *name);
void reply_text(fuse_req_t req, fuse_ino_t text);

/* Makes a request of each operation. To be called after all others. */
void ops_add_requests(struct fuse_lowlevel_ops *ops);

#endif
