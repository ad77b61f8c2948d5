/* SPDX-License-Identifier: MIT */
#include "fs/daemon/kernel/kernel_io.h"

#include "fs/daemon/kernel/mountpoint.h"
#include "fs/daemon/say/log.h"
#include "layout/base.h"

#include <stdatomic.h>
#include <string.h>

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#define HAS_WORDS (FUSE_VERSION >= FUSE_MAKE_VERSION(3, 17)) /* libfuse can ask for the features below */

enum flag {
    KILLPRIV = 1,
    DIRECT_MMAP = 2,
};

static const struct {
    enum flag flag;
    const char *cost, *since; /* since: the version of Linux that has it */
} features[] = {
    { KILLPRIV, "each small write takes more time, since the kernel asks for the file's capabilities first", "5.11" },
    { DIRECT_MMAP, "what is open for direct I/O cannot be mapped shared, and O_DIRECT writes one after the other",
      "6.6" },
};

static atomic_uint agreed; /* bits of enum flag: what the kernel and we agreed on */
static atomic_int refused; /* 0, or the error that libfuse refused custom I/O with */

/* When the device's read-ahead could not be set: why, which was wanted, and which it has; both in bytes. */
static atomic_int read_ahead_error;
static atomic_uint read_ahead_wanted, read_ahead_is;

static void say_missed(void)
{
    cleanup(freep) char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    char *rest = NULL;

    if (out == NULL)
        return;
    kernel_io_print_missed(out);
    if (fclose(out) == 0)
        for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
            log_note("%s", line);
}

void kernel_io_print_missed(FILE *out)
{
    for (size_t i = 0; i < ARRAY_SIZE(features); i++)
        if ((atomic_load(&agreed) & features[i].flag) != 0)
            continue;
        else if (atomic_load(&refused) != 0)
            fprintf(out, "%s: libfuse refuses custom I/O (%s); fallsfs built with libfuse 3.17 or newer does without\n",
                    features[i].cost, strerror(-atomic_load(&refused)));
        else
            fprintf(out, "%s: this kernel offers nothing else; Linux %s does\n", features[i].cost, features[i].since);
    if (atomic_load(&read_ahead_error) != 0)
        fprintf(out,
                "long reads of what is not cached take more time, since the kernel reads %uK ahead and not %uK: only "
                "root may set that (%s)\n",
                atomic_load(&read_ahead_is) / 1024, atomic_load(&read_ahead_wanted) / 1024,
                strerror(-atomic_load(&read_ahead_error)));
}

bool kernel_io_maps_direct(void)
{
    return (atomic_load_explicit(&agreed, memory_order_relaxed) & DIRECT_MMAP) != 0;
}

/* Sets the read-ahead of the mount's device, then that of the reply: of the two the kernel takes the smaller one when
 * the reply comes. What conn offers is what the device had, not a limit. */
static void agree_on_read_ahead(struct fuse_conn_info *conn, const char *path, uint32_t bytes)
{
    int r = mountpoint_set_read_ahead(path, bytes);

    if (r == 0 || bytes <= conn->max_readahead) {
        conn->max_readahead = bytes;
        return;
    }
    atomic_store(&read_ahead_wanted, bytes);
    atomic_store(&read_ahead_is, conn->max_readahead);
    atomic_store(&read_ahead_error, r);
}

#if HAS_WORDS

void kernel_io_use(struct fuse_session *session)
{
    (void) session;
}

static void ask_for(struct fuse_conn_info *conn, uint64_t want, uint64_t do_not_want)
{
    static const uint64_t more = FUSE_CAP_HANDLE_KILLPRIV_V2 | FUSE_CAP_DIRECT_IO_ALLOW_MMAP;
    unsigned flags = 0;

    (void) fuse_set_feature_flag(conn, (want | more) & conn->capable_ext);
    fuse_unset_feature_flag(conn, do_not_want);
    flags |= fuse_get_feature_flag(conn, FUSE_CAP_HANDLE_KILLPRIV_V2) ? KILLPRIV : 0;
    flags |= fuse_get_feature_flag(conn, FUSE_CAP_DIRECT_IO_ALLOW_MMAP) ? DIRECT_MMAP : 0;
    atomic_store(&agreed, flags);
    say_missed();
}

#else

#include <fcntl.h>
#include <linux/fuse.h>
#include <sys/uio.h>
#include <unistd.h>

#define FUSE_DIRECT_MMAP (UINT64_C(1) << 36) /* FUSE_DIRECT_IO_ALLOW_MMAP in newer headers */

/* The number that the kernel gave its INIT request, once that has come, and the features that the kernel offers. */
static atomic_uint_least64_t init_unique;
static atomic_uint offered;
static atomic_bool over;

static unsigned offers(const struct fuse_init_in *init)
{
    uint64_t flags = (init->flags & FUSE_INIT_EXT) != 0 ? init->flags | (uint64_t) init->flags2 << 32 : init->flags;

    return ((flags & FUSE_HANDLE_KILLPRIV_V2) != 0 ? KILLPRIV : 0) |
           ((flags & FUSE_DIRECT_MMAP) != 0 ? DIRECT_MMAP : 0);
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

/* Whether a reply is the one to INIT, a success: libfuse sends it as a header and a structure, each in memory that may
 * be changed. */
static bool answers_init(const struct iovec *iov, int count)
{
    const struct fuse_out_header *header = iov[0].iov_base;

    return count >= 2 && iov[0].iov_len == sizeof *header && header->unique == atomic_load(&init_unique) &&
           header->error == 0;
}

static void add_flags(const struct iovec *iov)
{
    unsigned flags = atomic_load(&offered);
    struct fuse_init_out *out = iov[1].iov_base;

    if (iov[1].iov_len < offsetof(struct fuse_init_out, flags2) + sizeof out->flags2)
        return;
    if ((flags & KILLPRIV) != 0)
        out->flags |= FUSE_HANDLE_KILLPRIV_V2;
    if ((flags & DIRECT_MMAP) != 0) {
        out->flags |= FUSE_INIT_EXT;
        out->flags2 |= (uint32_t) (FUSE_DIRECT_MMAP >> 32);
    }
    atomic_store(&agreed, flags);
}

static ssize_t write_reply(int fd, struct iovec *iov, int count, void *data)
{
    (void) data;
    if (!atomic_load_explicit(&over, memory_order_relaxed) && answers_init(iov, count)) {
        atomic_store(&over, true);
        add_flags(iov);
        say_missed();
    }
    return writev(fd, iov, count);
}

/* Sends a reply from a pipe. -1 with ENOENT means that nobody waits for it any more; it counts as sent then, since some
 * versions of libfuse would write a line of log about the error. */
static ssize_t send_reply(int from, off_t *from_off, int to, off_t *to_off, size_t len, unsigned flags, void *data)
{
    ssize_t n = splice(from, from_off, to, to_off, len, flags);

    (void) data;
    return n < 0 && errno == ENOENT ? (ssize_t) len : n;
}

void kernel_io_use(struct fuse_session *session)
{
    static const struct fuse_custom_io io = { .read = read_request, .writev = write_reply, .splice_send = send_reply };

    atomic_store(&refused, fuse_session_custom_io(session, &io, fuse_session_fd(session)));
}

static void ask_for(struct fuse_conn_info *conn, uint64_t want, uint64_t do_not_want)
{
    conn->want = (conn->want | (unsigned) want) & conn->capable & ~(unsigned) do_not_want;
    if (atomic_load(&refused) != 0)
        say_missed();
}

#endif

void kernel_io_agree(struct fuse_conn_info *conn, uint64_t want, uint64_t do_not_want, const char *path,
                     uint32_t read_ahead)
{
    agree_on_read_ahead(conn, path, read_ahead);
    ask_for(conn, want, do_not_want);
}
