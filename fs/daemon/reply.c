/* SPDX-License-Identifier: MIT */
#include "fs/daemon/kernel_io.h"
#include "fs/daemon/mount.h"

#include <fcntl.h>

/* The kernel's own forms of replies; fuse_lowlevel has no field for flags newer than itself. */
#define OPEN_DIRECT_IO              (UINT32_C(1) << 0)
#define OPEN_KEEP_CACHE             (UINT32_C(1) << 1)
#define OPEN_NO_FLUSH               (UINT32_C(1) << 5)
#define OPEN_PARALLEL_DIRECT_WRITES (UINT32_C(1) << 6)

struct open_out {
    uint64_t fh;
    uint32_t open_flags;
    uint32_t padding;
};

struct mount *the_mount;

struct cred cred_of(fuse_req_t req)
{
    const struct fuse_ctx *ctx = fuse_req_ctx(req);

    return (struct cred){ .uid = ctx->uid, .gid = ctx->gid, .umask = ctx->umask, .pid = ctx->pid };
}

void reply_status(fuse_req_t req, int r)
{
    if (keeper_may_reply())
        fuse_reply_err(req, r == -ETIMEDOUT ? EIO : -r); /* a stalled disk, where nobody can wait */
}

void reply_bytes(fuse_req_t req, const void *bytes, size_t n)
{
    if (keeper_may_reply())
        fuse_reply_buf(req, bytes, n);
}

void reply_count(fuse_req_t req, size_t n)
{
    if (keeper_may_reply())
        fuse_reply_write(req, n);
}

void reply_offset(fuse_req_t req, int64_t off)
{
    if (keeper_may_reply())
        fuse_reply_lseek(req, off);
}

void reply_statfs(fuse_req_t req, int r, const struct statvfs *st)
{
    if (r < 0)
        reply_status(req, r);
    else if (keeper_may_reply())
        fuse_reply_statfs(req, st);
}

void reply_xattr_size(fuse_req_t req, size_t n)
{
    if (keeper_may_reply())
        fuse_reply_xattr(req, n);
}

void reply_link(fuse_req_t req, const char *target)
{
    if (keeper_may_reply())
        fuse_reply_readlink(req, target);
}

void reply_directory(fuse_req_t req, const struct fuse_file_info *fi)
{
    if (keeper_may_reply())
        fuse_reply_open(req, fi);
}

/* The kernel takes an answer about a directory for good even when something was made in it since the question: it
 * believes us for a moment only. */
#define DIRECTORY_TIMEOUT 1.0

static double attr_timeout(const struct stat *st)
{
    return S_ISDIR(st->st_mode) ? MIN(DIRECTORY_TIMEOUT, the_mount->timeout) : the_mount->timeout;
}

struct fuse_entry_param entry_of(const struct inode *inode, const struct stat *st)
{
    return (struct fuse_entry_param){
        .ino = inode->nodeid, .attr = *st, .attr_timeout = attr_timeout(st), .entry_timeout = the_mount->timeout
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
    struct fuse_entry_param entry;

    if (r == -ENOENT) {
        /* There is no such name, and the kernel may believe that, too. */
        entry = (struct fuse_entry_param){ .entry_timeout = the_mount->timeout };
        if (keeper_may_reply())
            fuse_reply_entry(req, &entry);
        return;
    }
    if (r < 0) {
        reply_status(req, r);
        return;
    }
    entry = entry_of(inode, st);
    give(the_mount->fs->inodes, inode);
    if (!keeper_may_reply() || fuse_reply_entry(req, &entry) < 0)
        inode_forget(the_mount->fs->inodes, inode, 1); /* the caller never heard of it */
}

void reply_attr(fuse_req_t req, int r, const struct stat *st)
{
    if (r < 0)
        reply_status(req, r);
    else if (keeper_may_reply())
        fuse_reply_attr(req, st, attr_timeout(st));
}

/* Where a program asks for direct I/O itself, the kernel would do it anyway, but only one write at a time. Who only
 * reads has it send all parts of a long read at once, which it does not when we ask for direct I/O. */
static bool is_direct(const struct fuse_file_info *fi)
{
    bool by_program = (fi->flags & O_DIRECT) != 0 && (fi->flags & O_ACCMODE) != O_RDONLY;

    return the_mount->direct_io || (by_program && kernel_io_maps_direct());
}

/* Closing what was only read has nothing to tell us. */
static struct open_out open_out(struct inode *inode, const struct fuse_file_info *fi)
{
    uint32_t flags = is_direct(fi) ? OPEN_DIRECT_IO | OPEN_PARALLEL_DIRECT_WRITES : 0;

    /* Who reads from the kernel's cache moves no atime. */
    if (!the_mount->direct_io && !atomic_load(&inode->atime_is_old))
        flags |= OPEN_KEEP_CACHE;

    if ((fi->flags & O_ACCMODE) == O_RDONLY)
        flags |= OPEN_NO_FLUSH;
    return (struct open_out){ .fh = fi->fh, .open_flags = flags };
}

void reply_opened(fuse_req_t req, struct inode *inode, const struct fuse_file_info *fi)
{
    struct open_out out = open_out(inode, fi);

    if (!keeper_may_reply() || fuse_reply_buf(req, (const char *) &out, sizeof out) < 0)
        handles_drop(the_mount->handles, fi->fh);
}

void reply_created(fuse_req_t req, struct inode *inode, const struct stat *st, const struct fuse_file_info *fi)
{
    struct fuse_entry_param entry = entry_of(inode, st);

    struct fuse_file_info as_told = *fi;

    as_told.keep_cache = !the_mount->direct_io;
    as_told.direct_io = is_direct(fi);
    give(the_mount->fs->inodes, inode);
    if (keeper_may_reply() && fuse_reply_create(req, &entry, &as_told) == 0)
        return;
    handles_drop(the_mount->handles, fi->fh);
    inode_forget(the_mount->fs->inodes, inode, 1);
}
