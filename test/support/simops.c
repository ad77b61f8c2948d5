/* SPDX-License-Identifier: MIT */
/* Each call of the table: locked, counted, failed or made, and traced. */
#include "test/support/simfs.h"

#include <fcntl.h>
#include <stdarg.h>
#include <string.h>

#define TICK 1000 /* ns a call takes */
#define HALF 1    /* what a fault without an error asks of a call; no call fails with it */

static const char *const call_names[] = {
    [SIM_OPEN] = "open",
    [SIM_CREATE] = "open",
    [SIM_PREADV] = "preadv",
    [SIM_PWRITEV] = "pwritev",
    [SIM_TRUNCATE] = "truncate",
    [SIM_ALLOCATE] = "allocate",
    [SIM_SEEK] = "seek",
    [SIM_SYNC] = "sync",
    [SIM_LOCK] = "lock",
    [SIM_STAT] = "stat",
    [SIM_STATFS] = "statfs",
    [SIM_READ_DIR] = "read_dir",
    [SIM_READ_LINK] = "read_link",
    [SIM_LINK] = "link",
    [SIM_RENAME] = "rename",
    [SIM_UNLINK] = "unlink",
    [SIM_MKDIR] = "mkdir",
    [SIM_SYMLINK] = "symlink",
    [SIM_MKNOD] = "mknod",
    [SIM_CHMOD] = "chmod",
    [SIM_CHOWN] = "chown",
    [SIM_SET_TIMES] = "set_times",
    [SIM_GET_XATTR] = "get_xattr",
    [SIM_SET_XATTR] = "set_xattr",
    [SIM_LIST_XATTR] = "list_xattr",
    [SIM_REMOVE_XATTR] = "remove_xattr",
    [SIM_CLOSE] = "close",
    [SIM_ASSUME] = "assume",
    [SIM_RESUME] = "resume",
};

static const char *const sync_names[] = {
    [SYNC_START] = "start", [SYNC_WAIT] = "wait", [SYNC_DATA] = "data", [SYNC_ALL] = "all", [SYNC_DISK] = "disk",
};

/* -- each call: counted, failed, traced -- */

/* Whether a fault strikes the call: 0, HALF, or the error that it fails with at once. */
static int strike(struct sim *sim, const struct sim_disk *disk, enum sim_call call)
{
    for (unsigned i = 0; i < sim->n_faults; i++) {
        const struct sim_fault *fault = &sim->faults[i];

        if (sim->calls != fault->at && !(fault->persistent && sim->calls > fault->at))
            continue;
        if ((fault->disk >= 0 && (unsigned) fault->disk != disk->index) || (fault->calls & SIM_MASK(call)) == 0)
            continue;
        sim->n_failed++;
        return fault->error == 0 ? HALF : -fault->error;
    }
    return 0;
}

/* Takes the machine's lock, which finish gives back. */
static int begin(struct sim_disk *disk, enum sim_call call)
{
    struct sim *sim = disk->sim;

    pthread_mutex_lock(&sim->lock);
    sim->clock += TICK;
    if (call >= SIM_N_CALLS)
        return 0;
    sim->calls++;
    sim->down = sim->down || (sim->crash_at != 0 && sim->calls >= sim->crash_at);
    return sim->down || disk->absent ? -EIO : strike(sim, disk, call);
}

PRINTF_LIKE(4, 5)
static int64_t finish(struct sim_disk *disk, enum sim_call call, int64_t r, const char *args, ...)
{
    struct sim *sim = disk->sim;

    if (sim->trace != NULL) {
        va_list ap;

        fprintf(sim->trace, "%6" PRIu64 " disk %u %s(", sim->calls, disk->index, call_names[call]);
        va_start(ap, args);
        vfprintf(sim->trace, args, ap);
        va_end(ap);
        if (r < 0)
            fprintf(sim->trace, ") = -%s%s\n", strerrorname_np((int) -r), sim->down ? " (down)" : "");
        else
            fprintf(sim->trace, ") = %" PRId64 "\n", r);
    }
    pthread_mutex_unlock(&sim->lock);
    return r;
}

/* Makes the call where no error has struck. Half of anything but a transfer is all of it. */
#define UNLESS_STRUCK(struck, call) ((struck) < 0 ? (struck) : (call))

static int op_open(void *ctx, int dir, const char *path, int flags, mode_t mode)
{
    enum sim_call call = (flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))) != 0 ? SIM_CREATE : SIM_OPEN;
    int r = begin(ctx, call);

    r = UNLESS_STRUCK(r, simcall_open(ctx, dir, path, flags, mode));
    return (int) finish(ctx, call, r, "%d, \"%s\", %#o, %#o", dir, path, (unsigned) flags, mode);
}

static int op_close(void *ctx, int fd)
{
    (void) begin(ctx, SIM_CLOSE);
    return (int) finish(ctx, SIM_CLOSE, simcall_close(ctx, fd), "%d", fd);
}

static size_t total_of(const struct iovec *iov, int n_iov)
{
    size_t len = 0;

    for (int i = 0; i < n_iov; i++)
        len += iov[i].iov_len;
    return len;
}

/* The first half of a transfer, but a byte at least. */
static struct iovec *half_of(const struct iovec *iov, int n_iov, int *ret_n_iov)
{
    struct iovec *half = sim_alloc((size_t) n_iov * sizeof half[0]);
    size_t left = (total_of(iov, n_iov) + 1) / 2;

    for (*ret_n_iov = 0; *ret_n_iov < n_iov && left > 0; ++*ret_n_iov) {
        half[*ret_n_iov] = iov[*ret_n_iov];
        half[*ret_n_iov].iov_len = MIN(left, iov[*ret_n_iov].iov_len);
        left -= half[*ret_n_iov].iov_len;
    }
    return half;
}

static ssize_t op_preadv(void *ctx, int fd, const struct iovec *iov, int n_iov, uint64_t off, bool no_wait)
{
    int64_t r = begin(ctx, SIM_PREADV);
    int n = n_iov;
    cleanup(freep) struct iovec *half = r == HALF ? half_of(iov, n_iov, &n) : NULL;

    r = UNLESS_STRUCK(r, simcall_preadv(ctx, fd, half != NULL ? half : iov, n, off, no_wait));
    return (ssize_t) finish(ctx, SIM_PREADV, r, "%d, %zu, %" PRIu64, fd, total_of(iov, n_iov), off);
}

static ssize_t op_pwritev(void *ctx, int fd, const struct iovec *iov, int n_iov, uint64_t off)
{
    int64_t r = begin(ctx, SIM_PWRITEV);
    int n = n_iov;
    cleanup(freep) struct iovec *half = r == HALF ? half_of(iov, n_iov, &n) : NULL;

    r = UNLESS_STRUCK(r, simcall_pwritev(ctx, fd, half != NULL ? half : iov, n, off));
    return (ssize_t) finish(ctx, SIM_PWRITEV, r, "%d, %zu, %" PRIu64, fd, total_of(iov, n_iov), off);
}

static int op_truncate(void *ctx, int fd, uint64_t size)
{
    int r = begin(ctx, SIM_TRUNCATE);

    r = UNLESS_STRUCK(r, simcall_truncate(ctx, fd, size));
    return (int) finish(ctx, SIM_TRUNCATE, r, "%d, %" PRIu64, fd, size);
}

static int op_allocate(void *ctx, int fd, int mode, uint64_t off, uint64_t len)
{
    int r = begin(ctx, SIM_ALLOCATE);

    r = UNLESS_STRUCK(r, simcall_allocate(ctx, fd, mode, off, len));
    return (int) finish(ctx, SIM_ALLOCATE, r, "%d, %#x, %" PRIu64 ", %" PRIu64, fd, (unsigned) mode, off, len);
}

static int64_t op_seek(void *ctx, int fd, uint64_t off, int whence)
{
    int64_t r = begin(ctx, SIM_SEEK);

    r = UNLESS_STRUCK(r, simcall_seek(ctx, fd, off, whence));
    return finish(ctx, SIM_SEEK, r, "%d, %" PRIu64 ", %d", fd, off, whence);
}

static int op_sync(void *ctx, int fd, enum disk_sync how)
{
    struct sim_disk *disk = ctx;
    int r = begin(ctx, SIM_SYNC);

    if (r >= 0)
        r = simcall_sync(ctx, fd, how);
    else if (!disk->sim->down && !disk->absent)
        r = simcall_sync_failed(ctx, fd, how, -r);
    return (int) finish(ctx, SIM_SYNC, r, "%d, %s", fd, sync_names[how]);
}

static int op_lock(void *ctx, int fd)
{
    int r = begin(ctx, SIM_LOCK);

    r = UNLESS_STRUCK(r, simcall_lock(ctx, fd));
    return (int) finish(ctx, SIM_LOCK, r, "%d", fd);
}

static int op_stat(void *ctx, int dir, const char *path, struct stat *ret_stat)
{
    int r = begin(ctx, SIM_STAT);

    r = UNLESS_STRUCK(r, simcall_stat(ctx, dir, path, ret_stat));
    return (int) finish(ctx, SIM_STAT, r, "%d, \"%s\"", dir, path);
}

static int op_statfs(void *ctx, int fd, struct statvfs *ret_statfs)
{
    int r = begin(ctx, SIM_STATFS);

    r = UNLESS_STRUCK(r, simcall_statfs(ctx, fd, ret_statfs));
    return (int) finish(ctx, SIM_STATFS, r, "%d", fd);
}

static ssize_t op_read_dir(void *ctx, int fd, void *buf, size_t size)
{
    int64_t r = begin(ctx, SIM_READ_DIR);

    r = UNLESS_STRUCK(r, simcall_read_dir(ctx, fd, buf, size));
    return (ssize_t) finish(ctx, SIM_READ_DIR, r, "%d, %zu", fd, size);
}

static ssize_t op_read_link(void *ctx, int dir, const char *path, char *buf, size_t size)
{
    int64_t r = begin(ctx, SIM_READ_LINK);

    r = UNLESS_STRUCK(r, simcall_read_link(ctx, dir, path, buf, size));
    return (ssize_t) finish(ctx, SIM_READ_LINK, r, "%d, \"%s\", %zu", dir, path, size);
}

static int op_link(void *ctx, int from_dir, const char *from, int to_dir, const char *to)
{
    int r = begin(ctx, SIM_LINK);

    r = UNLESS_STRUCK(r, simcall_link(ctx, from_dir, from, to_dir, to));
    return (int) finish(ctx, SIM_LINK, r, "%d, \"%s\", %d, \"%s\"", from_dir, from, to_dir, to);
}

static int op_rename(void *ctx, int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    int r = begin(ctx, SIM_RENAME);

    r = UNLESS_STRUCK(r, simcall_rename(ctx, from_dir, from, to_dir, to, flags));
    return (int) finish(ctx, SIM_RENAME, r, "%d, \"%s\", %d, \"%s\", %u", from_dir, from, to_dir, to, flags);
}

static int op_unlink(void *ctx, int dir, const char *path, int flags)
{
    int r = begin(ctx, SIM_UNLINK);

    r = UNLESS_STRUCK(r, simcall_unlink(ctx, dir, path, flags));
    return (int) finish(ctx, SIM_UNLINK, r, "%d, \"%s\", %#x", dir, path, (unsigned) flags);
}

static int op_mkdir(void *ctx, int dir, const char *path, mode_t mode)
{
    int r = begin(ctx, SIM_MKDIR);

    r = UNLESS_STRUCK(r, simcall_mkdir(ctx, dir, path, mode));
    return (int) finish(ctx, SIM_MKDIR, r, "%d, \"%s\", %#o", dir, path, mode);
}

static int op_symlink(void *ctx, const char *target, int dir, const char *path)
{
    int r = begin(ctx, SIM_SYMLINK);

    r = UNLESS_STRUCK(r, simcall_symlink(ctx, target, dir, path));
    return (int) finish(ctx, SIM_SYMLINK, r, "\"%s\", %d, \"%s\"", target, dir, path);
}

static int op_mknod(void *ctx, int dir, const char *path, mode_t mode, dev_t dev)
{
    int r = begin(ctx, SIM_MKNOD);

    r = UNLESS_STRUCK(r, simcall_mknod(ctx, dir, path, mode, dev));
    return (int) finish(ctx, SIM_MKNOD, r, "%d, \"%s\", %#o, %#lx", dir, path, mode, (unsigned long) dev);
}

static int op_chmod(void *ctx, int dir, const char *path, mode_t mode)
{
    int r = begin(ctx, SIM_CHMOD);

    r = UNLESS_STRUCK(r, simcall_chmod(ctx, dir, path, mode));
    return (int) finish(ctx, SIM_CHMOD, r, "%d, \"%s\", %#o", dir, path, mode);
}

static int op_chown(void *ctx, int dir, const char *path, uid_t uid, gid_t gid)
{
    int r = begin(ctx, SIM_CHOWN);

    r = UNLESS_STRUCK(r, simcall_chown(ctx, dir, path, uid, gid));
    return (int) finish(ctx, SIM_CHOWN, r, "%d, \"%s\", %d, %d", dir, path, (int) uid, (int) gid);
}

static int op_set_times(void *ctx, int dir, const char *path, const struct timespec times[2])
{
    int r = begin(ctx, SIM_SET_TIMES);

    r = UNLESS_STRUCK(r, simcall_set_times(ctx, dir, path, times));
    return (int) finish(ctx, SIM_SET_TIMES, r, "%d, \"%s\"", dir, path);
}

static ssize_t op_get_xattr(void *ctx, int dir, const char *path, const char *name, void *value, size_t size)
{
    int64_t r = begin(ctx, SIM_GET_XATTR);

    r = UNLESS_STRUCK(r, simcall_get_xattr(ctx, dir, path, name, value, size));
    return (ssize_t) finish(ctx, SIM_GET_XATTR, r, "%d, \"%s\", %s, %zu", dir, path, name, size);
}

static int op_set_xattr(void *ctx, int dir, const char *path, const char *name, const void *value, size_t size,
                        int flags)
{
    int r = begin(ctx, SIM_SET_XATTR);

    r = UNLESS_STRUCK(r, simcall_set_xattr(ctx, dir, path, name, value, size, flags));
    return (int) finish(ctx, SIM_SET_XATTR, r, "%d, \"%s\", %s, %zu, %d", dir, path, name, size, flags);
}

static ssize_t op_list_xattr(void *ctx, int dir, const char *path, char *list, size_t size)
{
    int64_t r = begin(ctx, SIM_LIST_XATTR);

    r = UNLESS_STRUCK(r, simcall_list_xattr(ctx, dir, path, list, size));
    return (ssize_t) finish(ctx, SIM_LIST_XATTR, r, "%d, \"%s\", %zu", dir, path, size);
}

static int op_remove_xattr(void *ctx, int dir, const char *path, const char *name)
{
    int r = begin(ctx, SIM_REMOVE_XATTR);

    r = UNLESS_STRUCK(r, simcall_remove_xattr(ctx, dir, path, name));
    return (int) finish(ctx, SIM_REMOVE_XATTR, r, "%d, \"%s\", %s", dir, path, name);
}

static int op_assume(void *ctx, const struct cred *cred)
{
    (void) begin(ctx, SIM_ASSUME);
    simcall_assume(cred);
    return (int) finish(ctx, SIM_ASSUME, 0, "%u:%u, %#o", cred->uid, cred->gid, cred->umask);
}

static void op_resume(void *ctx)
{
    (void) begin(ctx, SIM_RESUME);
    simcall_resume();
    (void) finish(ctx, SIM_RESUME, 0, "%s", "");
}

const struct disk_ops sim_ops = {
    .open = op_open,
    .close = op_close,
    .preadv = op_preadv,
    .pwritev = op_pwritev,
    .truncate = op_truncate,
    .allocate = op_allocate,
    .seek = op_seek,
    .sync = op_sync,
    .lock = op_lock,
    .stat = op_stat,
    .statfs = op_statfs,
    .read_dir = op_read_dir,
    .read_link = op_read_link,
    .link = op_link,
    .rename = op_rename,
    .unlink = op_unlink,
    .mkdir = op_mkdir,
    .symlink = op_symlink,
    .mknod = op_mknod,
    .chmod = op_chmod,
    .chown = op_chown,
    .set_times = op_set_times,
    .get_xattr = op_get_xattr,
    .set_xattr = op_set_xattr,
    .list_xattr = op_list_xattr,
    .remove_xattr = op_remove_xattr,
    .assume = op_assume,
    .resume = op_resume,
};
