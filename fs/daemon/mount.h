/* SPDX-License-Identifier: MIT */
/* A mounted volume, and what the files of operations share. An operation decodes, acts through fs/core, replies once.
 */
#ifndef FALLSFS_FS_DAEMON_MOUNT_H
#define FALLSFS_FS_DAEMON_MOUNT_H

#include "fs/core/fs.h"
#include "fs/core/tree.h"
#include "fs/daemon/handle.h"
#include "fs/daemon/keeper.h"
#include "fs/daemon/options.h"
#include "ioctl/group.h"

struct buffers;
struct collect;
struct nodes;
struct processes;
struct reasons;
struct tours;
struct virtual_call;

#define MAX_REQUEST (1 << 20) /* bytes of one read or write */

struct mount {
    struct fs *fs;
    const struct options *options;
    struct handles *handles;
    struct keeper *keeper;
    struct groups *groups;
    struct collect *collect;
    struct buffers *buffers;
    struct processes *processes;
    struct reasons *reasons;
    struct tours *tours;
    struct nodes *nodes;
    enum layout_allow layout_allow;
    gid_t layout_gid;
    struct fuse_session *session;
    pid_t warden;
    double timeout;       /* seconds the kernel may believe what it was told: nobody else changes anything */
    bool direct_io;       /* past the kernel's page cache */
    uint32_t max_waiting; /* threads of those that serve the kernel which may wait for it */
    uint32_t max_read;    /* bytes of one read request; 0: the kernel's choice */
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

/* Of others' handles, which may be gone, there may be none. */
static inline void handle_putp(struct handle **handle)
{
    if (*handle != NULL)
        handle_put(*handle);
}

struct cred cred_of(fuse_req_t req);

/* Who asks about an attribute that is ours, and about what; why has REASON_SIZE bytes. */
struct virtual_call virtual_call_of(fuse_req_t req, struct inode *inode, char *why);

/* Before a file is changed. The kernel believes the old mode until it is told; attributes alone, so it waits for
 * nobody. */
int drop_privileges(const struct handle *handle, const struct cred *cred);

/* What the kernel has of that part of a file is written back, as far as it was changed, and read anew when it is asked
 * for. Called without locks: the kernel waits for whoever is at work on a page, and has us write. */
void forget_cached(const struct handle *handle, uint64_t lo, uint64_t hi);

/* The same for refills.c, which notes what is forgotten itself. */
void kernel_forgets(const struct inode *inode, uint64_t lo, uint64_t hi);

/* Whether a thread is telling it so, and may be waiting for a page that another request holds. */
bool kernel_is_forgetting(void);

/* From here on it is told no more: nobody serves what that would wait for. The same for who has begun. */
bool kernel_forgets_no_more(void);

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

/* The atime and mtime of a setattr, where it sets any: now, or given. */
int set_times(struct inode *inode, const struct stat *attr, int to_set);

/* A handle for a file, which it takes over. */
int open_file(struct inode *inode, struct file *file, struct file_view *file_view, struct fuse_file_info *fi);

/* Per thread, aligned, MAX_REQUEST long; NULL without memory. */
void *request_buffer(void);

/* The operations, by what they work on. */
void ops_add_names(struct fuse_lowlevel_ops *ops);
void ops_add_attr(struct fuse_lowlevel_ops *ops);
void ops_add_data(struct fuse_lowlevel_ops *ops);
void ops_add_dir(struct fuse_lowlevel_ops *ops);
void ops_add_ioctl(struct fuse_lowlevel_ops *ops);

/* After all others: takes what is asked about views from them, and from the root the name that leads there. */
void ops_add_views(struct fuse_lowlevel_ops *ops);

/* After those, likewise: texts that lie beside the views. By place, from 0, and by name; 0: there is none. */
void ops_add_texts(struct fuse_lowlevel_ops *ops);
const char *text_name(uint32_t i);
fuse_ino_t text_find(const char *name);
void reply_text(fuse_req_t req, fuse_ino_t text);

#endif
