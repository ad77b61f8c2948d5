/* SPDX-License-Identifier: MIT */
/* .falls/trace: what has been recorded, as a stream of items. Each open has a stream of its own, of what its user may
 * see, and a read goes on where the one before has ended, wherever the program believes to be: so cat and cp read it,
 * and who reads to the end and then again, some time later, gets what has come in between. Among the texts of
 * ops_texts.c it is one of no length; here is what becomes of it when it is opened. */
#include "fs/daemon/ops/ops.h"
#include "fs/daemon/serve/requests.h"
#include "fs/daemon/trace/tracing.h"

#include <fcntl.h>

static struct fuse_lowlevel_ops others;
static fuse_ino_t trace_ino;

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    int r;

    if (ino != trace_ino) {
        others.open(req, ino, fi);
        return;
    }
    serve(req);
    r = (fi->flags & O_ACCMODE) != O_RDONLY || (fi->flags & O_TRUNC) != 0
            ? -EACCES
            : tracing_open(the_mount->tracing, cred_of(req).uid, &fi->fh);
    if (r < 0) {
        reply_status(req, r);
        return;
    }
    fi->direct_io = fi->nonseekable = 1;
    if (!reply_other_opened(req, fi))
        tracing_close(the_mount->tracing, fi->fh);
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
    if (ino != trace_ino) {
        others.read(req, ino, size, off, fi);
        return;
    }
    serve(req);

    cleanup(freep) void *buf = malloc(MIN(size, MAX_REQUEST));
    ssize_t n = buf != NULL ? tracing_read(the_mount->tracing, fi->fh, buf, MIN(size, MAX_REQUEST)) : -ENOMEM;

    if (n < 0)
        reply_status(req, (int) n);
    else
        reply_bytes(req, buf, (size_t) n);
}

static void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    if (ino != trace_ino) {
        others.release(req, ino, fi);
        return;
    }
    serve(req);
    tracing_close(the_mount->tracing, fi->fh);
    reply_status(req, 0);
}

void ops_add_trace(struct fuse_lowlevel_ops *ops)
{
    others = *ops;
    trace_ino = text_find("trace");
    ops->open = op_open;
    ops->read = op_read;
    ops->release = op_release;
}
