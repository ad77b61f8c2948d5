/* SPDX-License-Identifier: MIT */
/* Operations on open files. */
#include "fs/daemon/mount.h"
#include "fs/daemon/pipes.h"
#include "fs/daemon/refills.h"
#include "fs/daemon/view_data.h"
#include "fs/daemon/view_nodes.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_key_t buffer_key;
static pthread_once_t buffer_once = PTHREAD_ONCE_INIT;

static void make_key(void)
{
    (void) pthread_key_create(&buffer_key, free);
}

void *request_buffer(void)
{
    void *buffer;

    pthread_once(&buffer_once, make_key);
    buffer = pthread_getspecific(buffer_key);
    if (buffer == NULL && posix_memalign(&buffer, 4096, MAX_REQUEST) == 0)
        (void) pthread_setspecific(buffer_key, buffer);
    return buffer;
}

int open_file(struct inode *inode, struct file *file, struct file_view *file_view, struct fuse_file_info *fi)
{
    struct handle *handle = handle_new(the_mount->fs, inode, file, file_view, fi->flags);
    int r;

    if (handle == NULL)
        return -ENOMEM;
    r = handles_add(the_mount->handles, handle, &fi->fh);
    if (r < 0)
        handle_put(handle);
    return r;
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    serve(req);

    cleanup(held_done) struct held held_ino = hold(ino);
    bool writes = (fi->flags & O_ACCMODE) != O_RDONLY || (fi->flags & O_TRUNC) != 0;
    struct file *file;
    int r = writes && the_mount->fs->read_only ? -EROFS : file_get(the_mount->fs, held_ino.inode, &file);

    if (r == 0)
        r = open_file(held_ino.inode, file, NULL, fi);

    if (r < 0)
        reply_status(req, r);
    else
        reply_opened(req, held_ino.inode, fi);
}

static ssize_t read_file(struct request *request, void *buffer)
{
    bool is_long = request->size >= MIN_PIPED && request->size <= MAX_PIPED;
    struct pipe *pipe = is_long && !request->again ? pipe_empty() : NULL;
    ssize_t n;

    request->pipe = NULL;
    if (pipe == NULL)
        return file_read(request->fs, request->handle->file, buffer, request->size, request->off);
    n = file_read_piped(request->fs, request->handle->file, buffer, request->size, request->off, pipe->to, &pipe->held);
    if (n > 0 && pipe->held == (size_t) n)
        request->pipe = pipe;
    return n;
}

static ssize_t act_read(struct request *request)
{
    void *buffer = request_buffer();

    if (buffer == NULL)
        return -ENOMEM;
    if (request->handle->file_view != NULL)
        return view_data_read(request, buffer);
    refills_read(request->handle->inode, request->off, request->size);
    return read_file(request, buffer);
}

/* What cannot be sent stays in the pipe, which is not used again then. */
static void send_piped(fuse_req_t req, struct pipe *pipe)
{
    struct fuse_bufvec bytes = FUSE_BUFVEC_INIT(pipe->held);

    bytes.buf[0].flags = FUSE_BUF_IS_FD | FUSE_BUF_FD_RETRY;
    bytes.buf[0].fd = pipe->from;
    if (fuse_reply_data(req, &bytes, 0) == 0)
        pipe->held = 0;
}

static void answer_read(struct request *request, ssize_t result)
{
    if (result < 0) {
        fuse_reply_err(request->req, (int) -result);
        return;
    }
    tree_note_read(request->fs, request->handle->inode); /* after the reply the handle may go */
    if (request->pipe != NULL)
        send_piped(request->req, request->pipe);
    else
        fuse_reply_buf(request->req, request_buffer(), (size_t) result);
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
    serve(req);

    struct request request = { .req = req,
                               .act = act_read,
                               .answer = answer_read,
                               .fs = the_mount->fs,
                               .handle = handle_of(fi),
                               .size = MIN(size, MAX_REQUEST),
                               .off = (uint64_t) off };

    (void) ino;
    keeper_run(the_mount->keeper, &request);
}

int drop_privileges(const struct handle *handle, const struct cred *cred)
{
    int r = tree_drop_privileges(handle->fs, handle->inode, cred);

    if (r > 0)
        (void) fuse_lowlevel_notify_inval_inode(the_mount->session, handle->inode->nodeid, -1, 0);
    return MIN(r, 0);
}

/* Threads that tell the kernel to forget pages, and whether that has no use any more. */
static atomic_uint n_telling;
static atomic_bool tells_no_more;

void kernel_forgets(const struct inode *inode, uint64_t lo, uint64_t hi)
{
    atomic_fetch_add(&n_telling, 1);
    if (!atomic_load(&tells_no_more))
        (void) fuse_lowlevel_notify_inval_inode(the_mount->session, inode->nodeid, (off_t) lo, (off_t) (hi - lo));
    atomic_fetch_sub(&n_telling, 1);
}

bool kernel_is_forgetting(void)
{
    return atomic_load(&n_telling) > 0;
}

bool kernel_forgets_no_more(void)
{
    atomic_store(&tells_no_more, true);
    return kernel_is_forgetting();
}

void forget_cached(const struct handle *handle, uint64_t lo, uint64_t hi)
{
    uint32_t since;

    if (lo >= hi)
        return;
    since = refills_forget(handle->inode);
    kernel_forgets(handle->inode, lo, hi);
    refills_forgotten(handle->inode, lo, hi, since);
}

/* A request's mode: the kernel writes pages back. They are not read again before that is over. */
#define WRITTEN_BACK 1

static ssize_t act_write(struct request *request)
{
    ssize_t r = drop_privileges(request->handle, &request->cred);

    if (r < 0)
        return r;
    if (request->handle->file_view != NULL)
        return view_data_write(request);
    r = file_write(request->fs, request->handle->file, request->data, request->size, request->off);
    if (r > 0 && request->mode != WRITTEN_BACK)
        refills_settle(request->handle, request->off, (uint64_t) r);
    return r;
}

static void answer_write(struct request *request, ssize_t result)
{
    if (result < 0)
        fuse_reply_err(request->req, (int) -result);
    else
        fuse_reply_write(request->req, (size_t) result);
}

static void op_write(fuse_req_t req, fuse_ino_t ino, const char *data, size_t size, off_t off,
                     struct fuse_file_info *fi)
{
    serve(req);

    struct request request = { .req = req,
                               .act = act_write,
                               .answer = answer_write,
                               .fs = the_mount->fs,
                               .handle = handle_of(fi),
                               .size = size,
                               .off = (uint64_t) off,
                               .mode = fi->writepage ? WRITTEN_BACK : 0,
                               .cred = cred_of(req),
                               .data = drop_const(data) };

    (void) ino;
    keeper_run(the_mount->keeper, &request);
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

/* An error of an fsync is told once to each handle that was open then, whoever asked for it. */
static ssize_t act_fsync(struct request *request)
{
    struct handle *handle = request->handle;
    int r = file_sync(request->fs, handle->file, request->mode != 0);
    uint32_t n_errors = file_errors(handle->file);

    if (r == -ETIMEDOUT)
        return r; /* not done, and not failed either */
    if (atomic_exchange(&handle->seen_errors, n_errors) != n_errors && r == 0)
        r = -EIO;
    return r;
}

static void answer_fsync(struct request *request, ssize_t result)
{
    fuse_reply_err(request->req, (int) -result);
}

static void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
    serve(req);

    struct request request = { .req = req,
                               .act = act_fsync,
                               .answer = answer_fsync,
                               .fs = the_mount->fs,
                               .handle = handle_of(fi),
                               .mode = datasync };

    (void) ino;
    keeper_run(the_mount->keeper, &request);
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
    int64_t at = -EINVAL;

    (void) ino;
    if ((whence == SEEK_DATA || whence == SEEK_HOLE) && off >= 0)
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
        n = -EOPNOTSUPP; /* the kernel does it by reading and writing then */
    else if (buffer == NULL)
        n = -ENOMEM;
    else
        n = drop_privileges(out, &cred);

    (void) ino_in, (void) ino_out, (void) flags;
    len = MIN(len, 16 * MAX_REQUEST); /* the rest is asked for again */
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
