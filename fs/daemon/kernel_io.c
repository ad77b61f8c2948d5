/* SPDX-License-Identifier: MIT */
#include "fs/daemon/kernel_io.h"

#include "layout/base.h"

#include <linux/fuse.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

/* The kernel's own number of its INIT request, once it has come; then whether it has been answered. */
static atomic_uint_least64_t init_unique;
static atomic_bool over;

static ssize_t read_request(int fd, void *buf, size_t size, void *data)
{
    ssize_t n = read(fd, buf, size);
    const struct fuse_in_header *header = buf;
    const struct fuse_init_in *init = (const void *) (header + 1);

    (void) data;
    if (!atomic_load_explicit(&over, memory_order_relaxed) && n >= (ssize_t) (sizeof *header + sizeof *init) &&
        header->opcode == FUSE_INIT && (init->flags & FUSE_HANDLE_KILLPRIV_V2) != 0)
        atomic_store(&init_unique, header->unique);
    return n;
}

/* An answer to INIT is a header and a structure that libfuse made on its stack. */
static void add_flag(const struct iovec *iov, int count)
{
    const struct fuse_out_header *header = iov[0].iov_base;
    struct fuse_init_out *out;

    if (count < 2 || iov[0].iov_len != sizeof *header || header->unique != atomic_load(&init_unique))
        return;
    atomic_store(&over, true);
    out = iov[1].iov_base;
    if (header->error == 0 && iov[1].iov_len >= offsetof(struct fuse_init_out, flags) + sizeof out->flags)
        out->flags |= FUSE_HANDLE_KILLPRIV_V2;
}

static ssize_t write_reply(int fd, struct iovec *iov, int count, void *data)
{
    (void) data;
    if (!atomic_load_explicit(&over, memory_order_relaxed))
        add_flag(iov, count);
    return writev(fd, iov, count);
}

void kernel_io_use(struct fuse_session *session)
{
    static const struct fuse_custom_io io = { .read = read_request, .writev = write_reply };

    (void) fuse_session_custom_io(session, &io, fuse_session_fd(session));
}
