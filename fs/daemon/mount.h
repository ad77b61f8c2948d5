/* SPDX-License-Identifier: MIT */
/* A mounted volume, and what the files of operations share. An operation decodes, acts through fs/core, replies once.
 */
#ifndef FALLSFS_FS_DAEMON_MOUNT_H
#define FALLSFS_FS_DAEMON_MOUNT_H

#include "fs/core/fs.h"
#include "fs/core/tree.h"
#include "fs/daemon/handle.h"
#include "fs/daemon/keeper.h"

#define MAX_REQUEST (1 << 20) /* bytes of one read or write */

struct mount {
    struct fs *fs;
    struct handles *handles;
    struct keeper *keeper;
    struct fuse_session *session;
    double timeout;    /* seconds the kernel may believe what it was told: nobody else changes anything */
    bool direct_io;    /* past the kernel's page cache */
    uint32_t max_read; /* bytes of one read request; 0: the kernel's choice */
};

/* The only one of the process. A request can be gone before its operation is over, when it was answered for: nothing is
 * asked of it after the operation has waited for a disk. */
extern struct mount *the_mount;

/* Each operation begins with this: its request is served from here on. */
static inline void serve(fuse_req_t req)
{
    keeper_begin(the_mount->keeper, req);
}

/* An inode the kernel names; it names only those it was told of and has not forgotten. Held while the operation works
 * on it: the kernel may lose interest meanwhile, when a disk takes too long. */
struct held {
    struct inodes *inodes;
    struct inode *inode;
};

static inline struct held hold(fuse_ino_t ino)
{
    struct inodes *inodes = the_mount->fs->inodes;

    return (struct held){ inodes, inodes_find(inodes, ino) };
}

static inline void held_done(struct held *held)
{
    inode_unref(held->inodes, held->inode);
}

/* The handle of an open file or directory, with a reference. */
static inline struct handle *handle_of(const struct fuse_file_info *fi)
{
    return handles_get(the_mount->handles, fi->fh);
}

static inline void handle_putp(struct handle **handle)
{
    handle_put(*handle);
}

struct cred cred_of(fuse_req_t req);

/* Replies. r is 0 or -errno; with an error all are the same. An inode is handed over: its reference becomes the
 * kernel's, or is dropped. */
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

/* A handle for a file, which it takes over. */
int open_file(struct inode *inode, struct file *file, struct fuse_file_info *fi);

/* Per thread, aligned, MAX_REQUEST long; NULL without memory. */
void *request_buffer(void);

/* The operations, by what they work on. */
void ops_add_names(struct fuse_lowlevel_ops *ops);
void ops_add_attr(struct fuse_lowlevel_ops *ops);
void ops_add_data(struct fuse_lowlevel_ops *ops);
void ops_add_dir(struct fuse_lowlevel_ops *ops);

#endif
