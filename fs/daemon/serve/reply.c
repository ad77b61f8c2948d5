/* SPDX-License-Identifier: MIT */
#include "fs/daemon/serve/reply.h"
#include "fs/daemon/kernel/kernel_io.h"
#include "fs/daemon/serve/mount.h"
#include "fs/daemon/serve/requests.h"

#include <fcntl.h>

/* The reply to open as the kernel takes it: libfuse has no field for flags that are newer than itself. */
#define OPEN_DIRECT_IO              (UINT32_C(1) << 0)
#define OPEN_KEEP_CACHE             (UINT32_C(1) << 1)
#define OPEN_NO_FLUSH               (UINT32_C(1) << 5)
#define OPEN_PARALLEL_DIRECT_WRITES (UINT32_C(1) << 6)

struct open_out {
    uint64_t fh;
    uint32_t open_flags;
    uint32_t padding;
};

struct cred cred_of(fuse_req_t req)
{
    const struct request *request = request_now();
    const struct fuse_ctx *ctx;

    if (request != NULL && request->req == req)
        return request->cred;
    ctx = fuse_req_ctx(req);
    return (struct cred){ .uid = ctx->uid, .gid = ctx->gid, .umask = ctx->umask, .pid = ctx->pid };
}

void reply_status(fuse_req_t req, int r)
{
    if (!deadlines_may_reply() || deadlines_park(the_mount->deadlines, r))
        return;
    if (r == -ETIMEDOUT || r == REQUEST_ELSEWHERE)
        r = -EIO; /* it could not be parked */
    request_ends(req, r);
    fuse_reply_err(req, -r);
}

/* Whether this thread may reply. Then it is noted what comes of the request: bytes of a file, or 0. */
static bool may_reply(fuse_req_t req, size_t n)
{
    if (!deadlines_may_reply())
        return false;
    request_ends(req, (ssize_t) n);
    return true;
}

void reply_bytes(fuse_req_t req, const void *bytes, size_t n)
{
    if (may_reply(req, 0))
        fuse_reply_buf(req, bytes, n);
}

void reply_count(fuse_req_t req, size_t n)
{
    if (may_reply(req, n))
        fuse_reply_write(req, n);
}

void reply_offset(fuse_req_t req, int64_t off)
{
    if (may_reply(req, 0))
        fuse_reply_lseek(req, off);
}

void reply_statfs(fuse_req_t req, int r, const struct statvfs *st)
{
    if (r < 0)
        reply_status(req, r);
    else if (may_reply(req, 0))
        fuse_reply_statfs(req, st);
}

void reply_xattr_size(fuse_req_t req, size_t n)
{
    if (may_reply(req, 0))
        fuse_reply_xattr(req, n);
}

void reply_link(fuse_req_t req, const char *target)
{
    if (may_reply(req, 0))
        fuse_reply_readlink(req, target);
}

void reply_directory(fuse_req_t req, const struct fuse_file_info *fi)
{
    if (may_reply(req, 0))
        fuse_reply_open(req, fi);
}

/* Seconds that the kernel may believe a directory's attributes: a moment only, since it also believes an answer that
 * was made before something was made in the directory. */
#define DIRECTORY_TIMEOUT 1.0

static double attr_timeout(const struct stat *st)
{
    return S_ISDIR(st->st_mode) ? MIN(DIRECTORY_TIMEOUT, the_mount->timeout) : the_mount->timeout;
}

struct fuse_entry_param entry_of(const struct inode *inode, const struct stat *st)
{
    return (struct fuse_entry_param){ .ino = inode->nodeid,
                                      .generation = the_mount->generation,
                                      .attr = *st,
                                      .attr_timeout = attr_timeout(st),
                                      .entry_timeout = the_mount->timeout };
}

/* Makes the caller's reference to an inode the kernel's. */
static void give(struct inodes *inodes, struct inode *inode)
{
    inode_looked_up(inodes, inode);
    inode_unref(inodes, inode);
}

void reply_entry(fuse_req_t req, int r, struct inode *inode, const struct stat *st)
{
    struct fuse_entry_param entry;

    if (r == -ENOENT) {
        /* The kernel may remember that there is no such name. */
        entry = (struct fuse_entry_param){ .entry_timeout = the_mount->timeout };
        if (may_reply(req, 0))
            fuse_reply_entry(req, &entry);
        return;
    }
    if (r < 0) {
        reply_status(req, r);
        return;
    }
    entry = entry_of(inode, st);
    give(the_mount->fs->inodes, inode);
    if (!may_reply(req, 0) || fuse_reply_entry(req, &entry) < 0)
        file_forget(the_mount->fs, inode, 1); /* the kernel has not heard of it */
}

void reply_attr(fuse_req_t req, int r, const struct stat *st)
{
    if (r < 0)
        reply_status(req, r);
    else if (may_reply(req, 0))
        fuse_reply_attr(req, st, attr_timeout(st));
}

/* Whether the kernel is told to pass by its pages. Where a program has opened with O_DIRECT, the kernel passes by them
 * anyway, but does only one write at a time unless told so. Where the program only reads, the kernel is not told, since
 * then it sends all parts of a long read at once. What is traced access by access is opened so (fi->direct_io). */
static bool is_direct(const struct fuse_file_info *fi)
{
    bool by_program = (fi->flags & O_DIRECT) != 0 && (fi->flags & O_ACCMODE) != O_RDONLY;

    return the_mount->direct_io || fi->direct_io || (by_program && kernel_io_maps_direct());
}

/* Makes the reply to open. Who only reads causes no flush: closing has nothing to tell us then. */
static struct open_out open_out(struct inode *inode, const struct fuse_file_info *fi)
{
    uint32_t flags = is_direct(fi) ? OPEN_DIRECT_IO | OPEN_PARALLEL_DIRECT_WRITES : 0;

    /* The kernel keeps a file's pages unless a read has to move the atime: reads of its pages do not come here. */
    if (!the_mount->direct_io && (the_mount->fs->noatime || !atomic_load(&inode->attr.atime_is_old)))
        flags |= OPEN_KEEP_CACHE;

    if ((fi->flags & O_ACCMODE) == O_RDONLY)
        flags |= OPEN_NO_FLUSH;
    return (struct open_out){ .fh = fi->fh, .open_flags = flags };
}

void reply_opened(fuse_req_t req, struct inode *inode, const struct fuse_file_info *fi)
{
    struct open_out out = open_out(inode, fi);

    if (!may_reply(req, 0) || fuse_reply_buf(req, (const char *) &out, sizeof out) < 0)
        handles_drop(the_mount->handles, fi->fh);
}

void reply_created(fuse_req_t req, struct inode *inode, const struct stat *st, const struct fuse_file_info *fi)
{
    struct fuse_entry_param entry = entry_of(inode, st);

    struct fuse_file_info as_told = *fi;

    as_told.keep_cache = !the_mount->direct_io;
    as_told.direct_io = is_direct(fi);
    give(the_mount->fs->inodes, inode);
    if (may_reply(req, 0) && fuse_reply_create(req, &entry, &as_told) == 0)
        return;
    handles_drop(the_mount->handles, fi->fh);
    file_forget(the_mount->fs, inode, 1);
}

bool reply_other(fuse_req_t req, const struct fuse_entry_param *entry)
{
    return may_reply(req, 0) && fuse_reply_entry(req, entry) == 0;
}

void reply_other_attr(fuse_req_t req, const struct stat *st)
{
    if (may_reply(req, 0))
        fuse_reply_attr(req, st, 0);
}

bool reply_other_opened(fuse_req_t req, const struct fuse_file_info *fi)
{
    return may_reply(req, 0) && fuse_reply_open(req, fi) == 0;
}

void reply_none(fuse_req_t req)
{
    fuse_reply_none(req);
}

void reply_poll(fuse_req_t req, unsigned events)
{
    if (may_reply(req, 0))
        fuse_reply_poll(req, events);
}

void reply_ioctl(fuse_req_t req, const void *out, size_t size)
{
    if (may_reply(req, 0))
        fuse_reply_ioctl(req, 0, out, size);
}

bool reply_claimed(fuse_req_t req, const void *bytes, size_t n)
{
    return fuse_reply_buf(req, bytes, n) == 0;
}

bool reply_pipe(fuse_req_t req, int fd, size_t n)
{
    struct fuse_bufvec bytes = FUSE_BUFVEC_INIT(n);

    bytes.buf[0].flags = FUSE_BUF_IS_FD | FUSE_BUF_FD_RETRY;
    bytes.buf[0].fd = fd;
    return fuse_reply_data(req, &bytes, 0) == 0;
}

void reply_waiter(fuse_req_t req, uint64_t began, int r, const void *out, size_t size)
{
    figures_note_request(OPERATION_IOCTL, began, r);
    fuse_reply_ioctl(req, r, out, size);
}

void reply_error(fuse_req_t req, int error)
{
    fuse_reply_err(req, error);
}
