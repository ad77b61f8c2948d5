/* SPDX-License-Identifier: MIT */
#include "fs/daemon/mount.h"

#include <string.h>

/* The kernel's own forms of replies; fuse_lowlevel has no field for flags newer than itself. */
#define OPEN_DIRECT_IO              (UINT32_C(1) << 0)
#define OPEN_KEEP_CACHE             (UINT32_C(1) << 1)
#define OPEN_PARALLEL_DIRECT_WRITES (UINT32_C(1) << 6)

struct open_out {
    uint64_t fh;
    uint32_t open_flags;
    uint32_t padding;
};

struct cred cred_of(fuse_req_t req)
{
    const struct fuse_ctx *ctx = fuse_req_ctx(req);

    return (struct cred){ .uid = ctx->uid, .gid = ctx->gid, .umask = ctx->umask, .pid = ctx->pid };
}

void reply_status(fuse_req_t req, int r)
{
    fuse_reply_err(req, -r);
}

struct fuse_entry_param entry_of(const struct mount *mount, const struct inode *inode, const struct stat *st)
{
    return (struct fuse_entry_param){
        .ino = inode->nodeid, .attr = *st, .attr_timeout = mount->timeout, .entry_timeout = mount->timeout
    };
}

/* The reference that came with an inode becomes the kernel's. */
static void give(struct inodes *inodes, struct inode *inode)
{
    inode_looked_up(inodes, inode);
    inode_unref(inodes, inode);
}

void reply_entry(fuse_req_t req, int r, struct inode *inode, const struct stat *st)
{
    struct mount *mount = mount_of(req);
    struct fuse_entry_param entry;

    if (r == -ENOENT) {
        /* There is no such name, and the kernel may believe that, too. */
        entry = (struct fuse_entry_param){ .entry_timeout = mount->timeout };
        fuse_reply_entry(req, &entry);
        return;
    }
    if (r < 0) {
        reply_status(req, r);
        return;
    }
    entry = entry_of(mount, inode, st);
    give(mount->fs->inodes, inode);
    if (fuse_reply_entry(req, &entry) < 0)
        inode_forget(mount->fs->inodes, inode, 1); /* the caller was interrupted and never heard of it */
}

void reply_attr(fuse_req_t req, int r, const struct stat *st)
{
    if (r < 0)
        reply_status(req, r);
    else
        fuse_reply_attr(req, st, mount_of(req)->timeout);
}

static struct open_out open_out(const struct mount *mount, const struct fuse_file_info *fi)
{
    return (struct open_out){ .fh = fi->fh,
                              .open_flags =
                                  mount->direct_io ? OPEN_DIRECT_IO | OPEN_PARALLEL_DIRECT_WRITES : OPEN_KEEP_CACHE };
}

static void drop_handle(struct mount *mount, uint64_t fh)
{
    struct handle *handle = handles_take(mount->handles, fh);

    file_put(mount->fs, handle->file);
    free(handle);
}

void reply_opened(fuse_req_t req, const struct fuse_file_info *fi)
{
    struct mount *mount = mount_of(req);
    struct open_out out = open_out(mount, fi);

    if (fuse_reply_buf(req, (const char *) &out, sizeof out) < 0)
        drop_handle(mount, fi->fh);
}

void reply_created(fuse_req_t req, struct inode *inode, const struct stat *st, const struct fuse_file_info *fi)
{
    struct mount *mount = mount_of(req);
    struct fuse_entry_param entry = entry_of(mount, inode, st);

    give(mount->fs->inodes, inode);
    if (!mount->direct_io) {
        struct fuse_file_info cached = *fi;

        cached.keep_cache = 1;
        if (fuse_reply_create(req, &entry, &cached) == 0)
            return;
    } else {
        struct fuse_file_info direct = *fi;

        direct.direct_io = 1;
        if (fuse_reply_create(req, &entry, &direct) == 0)
            return;
    }
    drop_handle(mount, fi->fh);
    inode_forget(mount->fs->inodes, inode, 1);
}
