/* SPDX-License-Identifier: MIT */
#include "fs/daemon/kernel_io.h"

#include "layout/base.h"

#include <fcntl.h>
#include <linux/fuse.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#define DIRECT_IO_ALLOW_MMAP (UINT64_C(1) << 36) /* FUSE_DIRECT_IO_ALLOW_MMAP of newer headers */
#define WANTED               (FUSE_HANDLE_KILLPRIV_V2 | DIRECT_IO_ALLOW_MMAP)

/* The kernel's own number of its INIT request, once it has come, and what it offers; then what it was told. */
static atomic_uint_least64_t init_unique, offered, agreed;
static atomic_bool over;

static void (*when_heard)(void *arg);
static void *heard_arg;

static uint64_t offers(const struct fuse_init_in *init)
{
    return (init->flags & FUSE_INIT_EXT) != 0 ? init->flags | (uint64_t) init->flags2 << 32 : init->flags;
}

static ssize_t read_request(int fd, void *buf, size_t size, void *data)
{
    ssize_t n = read(fd, buf, size);
    const struct fuse_in_header *header = buf;
    const struct fuse_init_in *init = (const void *) (header + 1);

    (void) data;
    if (!atomic_load_explicit(&over, memory_order_relaxed) && n >= (ssize_t) (sizeof *header + sizeof *init) &&
        header->opcode == FUSE_INIT) {
        atomic_store(&offered, offers(init));
        atomic_store(&init_unique, header->unique);
    }
    return n;
}

/* A header and a structure that libfuse made on its stack. */
static bool answers_init(const struct iovec *iov, int count)
{
    const struct fuse_out_header *header = iov[0].iov_base;

    return count >= 2 && iov[0].iov_len == sizeof *header && header->unique == atomic_load(&init_unique) &&
           header->error == 0;
}

static void add_flags(const struct iovec *iov)
{
    uint64_t flags = atomic_load(&offered) & WANTED;
    struct fuse_init_out *out = iov[1].iov_base;

    if (iov[1].iov_len < offsetof(struct fuse_init_out, flags2) + sizeof out->flags2)
        return;
    out->flags |= (uint32_t) flags;
    out->flags2 |= (uint32_t) (flags >> 32);
    if (flags >> 32 != 0)
        out->flags |= FUSE_INIT_EXT;
    atomic_store(&agreed, flags);
}

static ssize_t write_reply(int fd, struct iovec *iov, int count, void *data)
{
    ssize_t n;

    (void) data;
    if (atomic_load_explicit(&over, memory_order_relaxed) || !answers_init(iov, count))
        return writev(fd, iov, count);
    atomic_store(&over, true);
    add_flags(iov);
    n = writev(fd, iov, count);
    when_heard(heard_arg);
    return n;
}

/* When nobody waits for the reply any more, it is gone all the same. */
static ssize_t send_reply(int from, off_t *from_off, int to, off_t *to_off, size_t len, unsigned flags, void *data)
{
    ssize_t n = splice(from, from_off, to, to_off, len, flags);

    (void) data;
    return n < 0 && errno == ENOENT ? (ssize_t) len : n;
}

void kernel_io_use(struct fuse_session *session, void (*heard)(void *arg), void *arg)
{
    static const struct fuse_custom_io io = { .read = read_request, .writev = write_reply, .splice_send = send_reply };

    when_heard = heard;
    heard_arg = arg;
    (void) fuse_session_custom_io(session, &io, fuse_session_fd(session));
}

bool kernel_io_maps_direct(void)
{
    return (atomic_load_explicit(&agreed, memory_order_relaxed) & DIRECT_IO_ALLOW_MMAP) != 0;
}
