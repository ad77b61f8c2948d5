/* SPDX-License-Identifier: MIT */
/* Operations on open files. */
#include "fs/daemon/bounds/accounts.h"
#include "fs/daemon/kernel/pipes.h"
#include "fs/daemon/ops/ops.h"
#include "fs/daemon/say/last_errors.h"
#include "fs/daemon/serve/direct.h"
#include "fs/daemon/serve/page_races.h"
#include "fs/daemon/trace/tracing.h"
#include "fs/daemon/view/view_data.h"
#include "fs/daemon/view/view_nodes.h"
#include "ioctl/per_thread.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

PER_THREAD(buffer_key, free)

/* Gives this thread's buffer, page-aligned, of MAX_REQUEST bytes. NULL without memory. */
static void *request_buffer(void)
{
    void *buffer = pthread_getspecific(buffer_key);

    if (buffer == NULL && (buffer = aligned_alloc(4096, MAX_REQUEST)) != NULL &&
        pthread_setspecific(buffer_key, buffer) != 0)
        free(steal(buffer));
    return buffer;
}

int charge_handle(fuse_req_t req, struct handle *handle)
{
    const struct cred cred = cred_of(req);
    uid_t uid = cred.uid;
    int r = handles_charge(the_mount->handles, handle, uid);
    char why[LAST_ERROR_SIZE];

    handle->uid = uid;
    handle->pid = cred.pid;
    if (r == -ENFILE) {
        snprintf(
            why, sizeof why,
            "what this user has open may take %" PRIu64 " descriptors of the daemon, a file one and one for each "
            "subfile, or for each 2 KiB of memory that its layout takes: close some, or ask for more, limits.descriptors in fallsfs.conf",
            accounts_bound(the_mount->accounts, uid, ACCOUNT_DESCRIPTORS));
        note_why(req, handle->inode, why);
    }
    return r;
}

int open_file(fuse_req_t req, struct inode *inode, struct file *file, const struct handle_view *view,
              struct fuse_file_info *fi)
{
    struct handle_way way = { .flags = fi->flags };
    struct handle *handle;
    int r;

    fi->direct_io = view == NULL && tracing_wants_every(the_mount->tracing, inode, cred_of(req).uid);
    way.past_cache = fi->direct_io;
    handle = handle_new(the_mount->handles, the_mount->fs, inode, file, view, way);

    if (handle == NULL)
        return -ENOMEM;
    r = charge_handle(req, handle);
    if (r == 0)
        r = handles_add(the_mount->handles, handle, &fi->fh);
    if (r < 0)
        handle_put(handle);
    else
        tracing_opened(the_mount->tracing, handle);
    return r;
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    serve(req);

    cleanup(held_done) struct held held_ino = hold_untold(ino);
    bool writes = (fi->flags & O_ACCMODE) != O_RDONLY || (fi->flags & O_TRUNC) != 0;
    struct file *file;
    int r = writes && the_mount->fs->read_only ? -EROFS : file_get(the_mount->fs, held_ino.inode, &file);

    if (r == 0)
        r = open_file(req, held_ino.inode, file, NULL, fi);

    if (r < 0)
        reply_status(req, r);
    else
        reply_opened(req, held_ino.inode, fi);
}

/* Reads into buffer, or into a pipe, which is *ret_pipe then. */
static ssize_t read_file(const struct handle *handle, void *buffer, size_t size, uint64_t off, struct pipe **ret_pipe)
{
    bool is_long = size >= MIN_PIPED && size <= MAX_PIPED;
    struct pipe *pipe = is_long && !request_is_again() ? pipe_empty() : NULL;
    ssize_t n;

    if (pipe == NULL)
        return file_read(handle->fs, handle->file, buffer, size, off);
    n = file_read_piped(handle->fs, handle->file, buffer, size, off, pipe->to, &pipe->held);
    if (n > 0 && pipe->held == (size_t) n)
        *ret_pipe = pipe;
    return n;
}

static ssize_t read_handle(const struct handle *handle, void *buffer, size_t size, uint64_t off, bool for_pages,
                           struct pipe **ret_pipe)
{
    if (buffer == NULL)
        return -ENOMEM;
    if (handle->file_view != NULL)
        return view_data_read(handle, buffer, size, off);
    page_races_read(handle->inode, off, size);
    if (for_pages)
        direct_page_read(handle->inode);
    return read_file(handle, buffer, size, off, ret_pipe);
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
    serve(req);

    cleanup(handle_putp) struct handle *handle = handle_of(fi);
    void *buffer = request_buffer();
    struct pipe *pipe = NULL;
    ssize_t n = read_handle(handle, buffer, MIN(size, MAX_REQUEST), (uint64_t) off, !direct_is(fi), &pipe);

    (void) ino;
    if (n < 0) {
        reply_status(req, (int) n);
        return;
    }
    if (!deadlines_may_reply())
        return;
    handle_note_read(handle, (uint64_t) n);
    request_ends(req, n);
    tree_note_read(handle->fs, handle->inode);
    if (pipe == NULL)
        (void) reply_claimed(req, buffer, (size_t) n);
    else if (reply_pipe(req, pipe->from, pipe->held))
        pipe->held = 0; /* else the bytes stay in the pipe, and pipe_empty makes it anew */
}

/* Has the kernel forget the pages that a direct write meets, before the reply tells the program that whoever reads now
 * reads what was written. Returns what the request ends with: the bytes written, or that it is to be run again. */
static ssize_t end_direct(const struct handle *handle, uint64_t off, size_t written)
{
    if (!direct_meets_pages(handle))
        return (ssize_t) written;
    if (!request_may_wait()) {
        request_set_done(written); /* when it is run again, only the pages are left to do */
        return request_later();
    }
    forget_cached(handle, off, off + written);
    request_has_waited();
    return (ssize_t) written;
}

static ssize_t write_handle(struct handle *handle, const void *data, size_t size, uint64_t off,
                            const struct fuse_file_info *fi)
{
    ssize_t n;

    if (handle->file_view != NULL)
        return view_data_write(handle, data, size, off);
    n = file_write(handle->fs, handle->file, data, size, off);
    if (n > 0 && !fi->writepage && direct_is(fi))
        return end_direct(handle, off, (size_t) n);
    /* The pages that the kernel writes back itself need no mending: it does not read them again before that is over. */
    if (n > 0 && !fi->writepage)
        page_races_mend(handle, off, (uint64_t) n);
    return n;
}

static void op_write(fuse_req_t req, fuse_ino_t ino, const char *data, size_t size, off_t off,
                     struct fuse_file_info *fi)
{
    serve(req);

    cleanup(handle_putp) struct handle *handle = handle_of(fi);
    struct cred cred = cred_of(req);
    size_t done = request_done();
    ssize_t n = done > 0 ? end_direct(handle, (uint64_t) off, done) : drop_privileges(handle, &cred);

    (void) ino;
    if (n == 0 && done == 0)
        n = write_handle(handle, data, size, (uint64_t) off, fi);
    if (n >= 0)
        handle_note_write(handle, (uint64_t) n);
    if (n < 0)
        reply_status(req, (int) n);
    else
        reply_count(req, (size_t) n);
}

static void op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    serve(req);

    cleanup(handle_putp) struct handle *handle = handle_of(fi);

    (void) ino;
    reply_status(req, file_flush(handle->fs, handle->file));
}

static void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    serve(req);

    cleanup(handle_putp) struct handle *handle = handle_of(fi);

    (void) ino;
    if (atomic_load(&handle->sections) != NULL)
        groups_handle_gone(the_mount->groups, fi->fh);
    node_put(the_mount->nodes, atomic_exchange(&handle->ticket, NULL));
    handles_drop(the_mount->handles, fi->fh);
    reply_status(req, 0);
}

/* Syncs a file. An error of any fsync is told once to each handle that was open then, whoever asked for the fsync. */
static int sync_handle(struct handle *handle, bool data_only)
{
    int r = file_sync(handle->fs, handle->file, data_only);
    uint32_t n_errors = file_errors(handle->file);

    if (r == -ETIMEDOUT)
        return r; /* the request is parked: it has not failed yet */
    if (atomic_exchange(&handle->seen_errors, n_errors) != n_errors && r == 0)
        r = -EIO;
    return r;
}

static void op_fsync(fuse_req_t req, fuse_ino_t ino, int data_only, struct fuse_file_info *fi)
{
    serve(req);

    cleanup(handle_putp) struct handle *handle = handle_of(fi);

    (void) ino;
    reply_status(req, sync_handle(handle, data_only != 0));
}

static void op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t off, off_t len, struct fuse_file_info *fi)
{
    serve(req);

    cleanup(handle_putp) struct handle *handle = handle_of(fi);
    struct cred cred = cred_of(req);
    int r = handle->file_view != NULL ? -EOPNOTSUPP : drop_privileges(handle, &cred);

    (void) ino;
    if (r == 0)
        r = file_allocate(handle->fs, handle->file, mode, (uint64_t) off, (uint64_t) len);
    reply_status(req, r);
}

static void op_lseek(fuse_req_t req, fuse_ino_t ino, off_t off, int whence, struct fuse_file_info *fi)
{
    serve(req);

    cleanup(handle_putp) struct handle *handle = handle_of(fi);
    int64_t at = whence == SEEK_DATA || whence == SEEK_HOLE ? -ENXIO : -EINVAL;

    (void) ino;
    if (at == -ENXIO && off >= 0)
        at = handle->file_view != NULL ? file_view_seek(handle->file_view, handle->file, (uint64_t) off, whence)
                                       : file_seek(handle->fs, handle->file, (uint64_t) off, whence);
    if (at < 0)
        reply_status(req, (int) at);
    else
        reply_offset(req, at);
}

static void op_copy_file_range(fuse_req_t req, fuse_ino_t ino_in, off_t off_in, struct fuse_file_info *fi_in,
                               fuse_ino_t ino_out, off_t off_out, struct fuse_file_info *fi_out, size_t len, int flags)
{
    serve(req);

    cleanup(handle_putp) struct handle *in = handle_of(fi_in);
    cleanup(handle_putp) struct handle *out = handle_of(fi_out);
    struct fs *fs = the_mount->fs;
    struct cred cred = cred_of(req);
    void *buffer = request_buffer();
    size_t copied = 0;
    ssize_t n = 0;

    if (in->file_view != NULL || out->file_view != NULL)
        n = -EOPNOTSUPP; /* the kernel reads and writes instead */
    else if (buffer == NULL)
        n = -ENOMEM;
    else
        n = drop_privileges(out, &cred);

    (void) ino_in, (void) ino_out, (void) flags;
    len = MIN(len, 16 * MAX_REQUEST); /* the program asks for the rest */
    n = n < 0 ? n : 1;
    while (n > 0 && copied < len) {
        n = file_read(fs, in->file, buffer, MIN(len - copied, MAX_REQUEST), (uint64_t) off_in + copied);
        if (n > 0)
            n = file_write(fs, out->file, buffer, (size_t) n, (uint64_t) off_out + copied);
        if (n > 0)
            copied += (size_t) n;
    }
    if (n < 0 && copied == 0)
        reply_status(req, (int) n);
    else
        reply_count(req, copied);
}

void ops_add_data(struct fuse_lowlevel_ops *ops)
{
    ops->open = op_open;
    ops->read = op_read;
    ops->write = op_write;
    ops->flush = op_flush;
    ops->release = op_release;
    ops->fsync = op_fsync;
    ops->fallocate = op_fallocate;
    ops->lseek = op_lseek;
    ops->copy_file_range = op_copy_file_range;
}
