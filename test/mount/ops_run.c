/* SPDX-License-Identifier: MIT */
/* Operations: made at random, run, shown. */
#include "test/mount/ops_equal.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define PAGE 4096

static const char *const paths[] = {
    "a",       "b",       "c", "d1",   "d2",           "d1/a",    "d1/b", "d1/d3", "d2/x",   "d2/y",
    "d1/d3/z", "d1/d3/a", "s", "d2/s", "no/such/path", "d1/../b", "a/b",  ".",     "d2/d4/", "d2/d4/w",
};

static const char *const attrs[] = { "user.one",      "user.two",      "user.a long name with blanks",
                                     "trusted.three", "user.fallsfsx", "user.fals" };

const char *op_path(unsigned number)
{
    return paths[number % ARRAY_SIZE(paths)];
}

static int64_t checked(int64_t r)
{
    return r < 0 ? -errno : r;
}

static void fill(uint8_t *buf, size_t len, uint64_t seed)
{
    struct rng rng = rng_from_seed(seed);

    for (size_t i = 0; i < len; i += sizeof(uint64_t)) {
        uint64_t word = rng_u64(&rng);

        memcpy(buf + i, &word, MIN(sizeof word, len - i));
    }
}

static uint8_t *page_buffer(void)
{
    static uint8_t *buffer;

    if (buffer == NULL && posix_memalign((void **) &buffer, PAGE, MAX_IO + 2 * PAGE) != 0)
        abort();
    return buffer;
}

static const char *from_path(const struct op *op)
{
    return op_path(op->from);
}

static const char *to_path(const struct op *op)
{
    return op_path(op->to);
}

static int fd_of(const struct side *side, const struct op *op)
{
    return side->fd[op->fd];
}

/* Takes a new descriptor into the table. */
static int64_t keep_fd(struct side *side, unsigned at, int fd)
{
    if (fd < 0)
        return -errno;
    if (side->fd[at] >= 0)
        close(side->fd[at]);
    side->fd[at] = fd;
    return 0;
}

/* -- on descriptors -- */

static int64_t run_open(struct side *side, const struct op *op, struct outcome *out)
{
    (void) out;
    return keep_fd(side, op->fd, openat(side->root, from_path(op), op->flags | O_NONBLOCK | O_CLOEXEC, op->mode));
}

static int64_t run_tmpfile(struct side *side, const struct op *op, struct outcome *out)
{
    (void) out;
    return keep_fd(side, op->fd, openat(side->root, "d1", O_TMPFILE | O_RDWR | O_CLOEXEC, op->mode));
}

static int64_t run_reopen(struct side *side, const struct op *op, struct outcome *out)
{
    char path[64];

    (void) out;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd_of(side, op));
    return keep_fd(side, op->fd2, open(path, (op->flags & ~O_CREAT) | O_NONBLOCK | O_CLOEXEC));
}

static int64_t run_close(struct side *side, const struct op *op, struct outcome *out)
{
    int64_t r = checked(close(fd_of(side, op)));

    (void) out;
    side->fd[op->fd] = -1;
    return r;
}

static int64_t run_dup(struct side *side, const struct op *op, struct outcome *out)
{
    (void) out;
    return op->fd == op->fd2 ? 0 : keep_fd(side, op->fd2, fcntl(fd_of(side, op), F_DUPFD_CLOEXEC, 3));
}

static bool is_direct(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    return flags >= 0 && (flags & O_DIRECT) != 0;
}

/* Direct transfers keep to pages, as the plain side may demand it. */
static void place(const struct side *side, const struct op *op, uint64_t *off, size_t *len)
{
    *off = op->off;
    *len = op->len;
    if (is_direct(fd_of(side, op))) {
        *off &= ~(uint64_t) (PAGE - 1);
        *len = (*len + PAGE - 1) & ~(size_t) (PAGE - 1);
    }
    *len = MIN(*len, MAX_IO / PAGE * PAGE);
}

static int64_t run_pread(struct side *side, const struct op *op, struct outcome *out)
{
    uint64_t off;
    size_t len;
    int64_t r;

    place(side, op, &off, &len);
    r = checked(pread(fd_of(side, op), page_buffer(), len, (off_t) off));
    if (r > 0)
        memcpy(out->data, page_buffer(), out->len = (size_t) r);
    return r;
}

static int64_t run_pwrite(struct side *side, const struct op *op, struct outcome *out)
{
    uint64_t off;
    size_t len;

    (void) out;
    place(side, op, &off, &len);
    fill(page_buffer(), len, op->seed);
    return checked(pwrite(fd_of(side, op), page_buffer(), len, (off_t) off));
}

/* At the descriptor's own offset, which two descriptors may share. */
static int64_t run_read(struct side *side, const struct op *op, struct outcome *out)
{
    int64_t r;

    if (is_direct(fd_of(side, op)))
        return 0;
    r = checked(read(fd_of(side, op), out->data, MIN(op->len, MAX_IO)));
    out->len = r > 0 ? (size_t) r : 0;
    return r;
}

static int64_t run_write(struct side *side, const struct op *op, struct outcome *out)
{
    (void) out;
    if (is_direct(fd_of(side, op)))
        return 0;
    fill(page_buffer(), op->len, op->seed);
    return checked(write(fd_of(side, op), page_buffer(), op->len));
}

static int64_t run_readv(struct side *side, const struct op *op, struct outcome *out)
{
    size_t len = MIN(op->len, MAX_IO), first = len / 3;
    struct iovec iov[] = { { out->data, first }, { out->data + first, 0 }, { out->data + first, len - first } };
    int64_t r;

    if (is_direct(fd_of(side, op)))
        return 0;
    r = checked(preadv(fd_of(side, op), iov, 3, (off_t) op->off));
    out->len = r > 0 ? (size_t) r : 0;
    return r;
}

static int64_t run_writev(struct side *side, const struct op *op, struct outcome *out)
{
    size_t first = op->len / 3;
    uint8_t *buf = page_buffer();
    struct iovec iov[] = { { buf, first }, { buf + first, op->len - first } };

    (void) out;
    if (is_direct(fd_of(side, op)))
        return 0;
    fill(buf, op->len, op->seed);
    return checked(pwritev(fd_of(side, op), iov, 2, (off_t) op->off));
}

static int64_t run_seek(struct side *side, const struct op *op, struct outcome *out)
{
    static const int whence[] = { SEEK_SET, SEEK_CUR, SEEK_END };
    struct stat st;

    (void) out;
    if (fstat(fd_of(side, op), &st) == 0 && S_ISDIR(st.st_mode))
        return 0; /* offsets in directories are each file system's own */
    return checked(lseek(fd_of(side, op), (off_t) op->off, whence[op->seed % 3]));
}

static int64_t run_ftruncate(struct side *side, const struct op *op, struct outcome *out)
{
    (void) out;
    return checked(ftruncate(fd_of(side, op), (off_t) op->off));
}

static int64_t run_allocate(struct side *side, const struct op *op, struct outcome *out)
{
    static const int mode[] = { 0, FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                FALLOC_FL_ZERO_RANGE, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE };

    (void) out;
    return checked(fallocate(fd_of(side, op), mode[op->seed % ARRAY_SIZE(mode)], (off_t) op->off, (off_t) op->len));
}

static int64_t run_sync(struct side *side, const struct op *op, struct outcome *out)
{
    (void) out;
    return checked(op->seed % 2 == 0 ? fsync(fd_of(side, op)) : fdatasync(fd_of(side, op)));
}

static int64_t run_copy(struct side *side, const struct op *op, struct outcome *out)
{
    loff_t in = (loff_t) op->off, to = (loff_t) op->off2;
    uint64_t copied = 0, len = op->len;
    struct stat st;
    ssize_t n = 1;

    (void) out;
    if (is_direct(fd_of(side, op)) ||
        is_direct(side->fd[op->fd2])) { /* whole pages, as above, of which there are some */
        in &= ~(loff_t) (PAGE - 1);
        to &= ~(loff_t) (PAGE - 1);
        if (fstat(fd_of(side, op), &st) < 0 || in >= st.st_size)
            return 0;
        len = MIN(len, (uint64_t) (st.st_size - in)) & ~(uint64_t) (PAGE - 1);
    }
    while (copied < len && n > 0) {
        n = copy_file_range(fd_of(side, op), &in, side->fd[op->fd2], &to, len - copied, 0);
        if (n > 0)
            copied += (uint64_t) n;
    }
    return n < 0 && copied == 0 ? -errno : (int64_t) copied;
}

/* Through shared memory, inside the file only. */
static int64_t run_map(struct side *side, const struct op *op, struct outcome *out)
{
    int prot = (op->seed & 1) != 0 ? PROT_READ | PROT_WRITE : PROT_READ;
    uint64_t start = op->off & ~(uint64_t) (PAGE - 1);
    size_t len = MIN(op->len, MAX_IO), inside;
    struct stat st;
    uint8_t *at;

    if (fstat(fd_of(side, op), &st) < 0 || !S_ISREG(st.st_mode) || start >= (uint64_t) st.st_size || len == 0)
        return 0;
    inside = (size_t) MIN(len, (uint64_t) st.st_size - start);
    at = mmap(NULL, len, prot, MAP_SHARED, fd_of(side, op), (off_t) start);
    if (at == MAP_FAILED)
        return -errno;
    memcpy(out->data, at, out->len = inside);
    if ((prot & PROT_WRITE) != 0)
        fill(at + inside / 3, inside / 2, op->seed);
    int64_t r = checked(msync(at, len, MS_SYNC));

    munmap(at, len);
    return r;
}

/* A child writes through the descriptor it inherited. */
static int64_t run_fork(struct side *side, const struct op *op, struct outcome *out)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        int64_t r = run_write(side, op, out);

        _exit(r < 0 ? (int) -r : 0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) < 0)
        return -errno;
    return WIFEXITED(status) ? -WEXITSTATUS(status) : -EFAULT;
}

static int64_t run_fchmod(struct side *side, const struct op *op, struct outcome *out)
{
    (void) out;
    return checked(fchmod(fd_of(side, op), op->mode));
}

static int64_t run_futimens(struct side *side, const struct op *op, struct outcome *out)
{
    (void) out;
    return checked(futimens(fd_of(side, op), op->times));
}

static int64_t run_fsetxattr(struct side *side, const struct op *op, struct outcome *out)
{
    const char *name = attrs[op->seed % ARRAY_SIZE(attrs)];
    uint8_t value[64];

    (void) out;
    fill(value, sizeof value, op->seed);
    return checked(fsetxattr(fd_of(side, op), name, value, op->len % sizeof value, 0));
}

static int64_t run_lock(struct side *side, const struct op *op, struct outcome *out)
{
    static const int how[] = { LOCK_SH | LOCK_NB, LOCK_EX | LOCK_NB, LOCK_UN };

    (void) out;
    return checked(flock(fd_of(side, op), how[op->seed % 3]));
}

/* -- on names -- */

static int64_t run_stat(struct side *side, const struct op *op, struct outcome *out)
{
    struct stat st;

    (void) out;
    return checked(fstatat(side->root, from_path(op), &st, op->seed % 2 == 0 ? AT_SYMLINK_NOFOLLOW : 0));
}

static int64_t run_access(struct side *side, const struct op *op, struct outcome *out)
{
    (void) out;
    return checked(faccessat(side->root, from_path(op), (int) (op->seed % 8), AT_EACCESS));
}

static int64_t run_truncate(struct side *side, const struct op *op, struct outcome *out)
{
    char path[PATH_MAX];

    (void) out;
    snprintf(path, sizeof path, "/proc/self/fd/%d/%s", side->root, from_path(op));
    return checked(truncate(path, (off_t) op->off));
}

static int64_t run_rename(struct side *side, const struct op *op, struct outcome *out)
{
    static const unsigned flags[] = { 0, 0, 0, RENAME_NOREPLACE, RENAME_EXCHANGE };

    (void) out;
    return checked(renameat2(side->root, from_path(op), side->root, to_path(op), flags[op->seed % ARRAY_SIZE(flags)]));
}

static int64_t run_link(struct side *side, const struct op *op, struct outcome *out)
{
    (void) out;
    return checked(
        linkat(side->root, from_path(op), side->root, to_path(op), op->seed % 3 == 0 ? AT_SYMLINK_FOLLOW : 0));
}

static int64_t run_symlink(struct side *side, const struct op *op, struct outcome *out)
{
    (void) out;
    return checked(symlinkat(from_path(op), side->root, to_path(op)));
}

static int64_t run_readlink(struct side *side, const struct op *op, struct outcome *out)
{
    int64_t r = checked(readlinkat(side->root, from_path(op), (char *) out->data, 1 + op->len % PATH_MAX));

    out->len = r > 0 ? (size_t) r : 0;
    return r;
}

static int64_t run_unlink(struct side *side, const struct op *op, struct outcome *out)
{
    (void) out;
    return checked(unlinkat(side->root, from_path(op), 0));
}

static int64_t run_rmdir(struct side *side, const struct op *op, struct outcome *out)
{
    (void) out;
    return checked(unlinkat(side->root, from_path(op), AT_REMOVEDIR));
}

static int64_t run_mkdir(struct side *side, const struct op *op, struct outcome *out)
{
    (void) out;
    return checked(mkdirat(side->root, from_path(op), op->mode));
}

static int64_t run_mknod(struct side *side, const struct op *op, struct outcome *out)
{
    static const mode_t fmt[] = { S_IFIFO, S_IFSOCK, S_IFREG, 0 };

    (void) out;
    return checked(mknodat(side->root, from_path(op), fmt[op->seed % 4] | op->mode, 0));
}

static int64_t run_chmod(struct side *side, const struct op *op, struct outcome *out)
{
    (void) out;
    return checked(fchmodat(side->root, from_path(op), op->mode, 0));
}

static int64_t run_chown(struct side *side, const struct op *op, struct outcome *out)
{
    static const id_t ids[] = { (id_t) -1, 0, 1000, 2000, 3000 };

    (void) out;
    return checked(fchownat(side->root, from_path(op), ids[op->seed % 5], ids[op->seed / 5 % 5],
                            op->seed % 2 == 0 ? AT_SYMLINK_NOFOLLOW : 0));
}

static int64_t run_utimens(struct side *side, const struct op *op, struct outcome *out)
{
    (void) out;
    return checked(utimensat(side->root, from_path(op), op->times, op->seed % 2 == 0 ? AT_SYMLINK_NOFOLLOW : 0));
}

struct proc_path {
    char s[PATH_MAX];
};

static const char *proc_path(struct proc_path *path, const struct side *side, const struct op *op)
{
    snprintf(path->s, sizeof path->s, "/proc/self/fd/%d/%s", side->root, from_path(op));
    return path->s;
}

static int64_t run_setxattr(struct side *side, const struct op *op, struct outcome *out)
{
    static const int flags[] = { 0, 0, XATTR_CREATE, XATTR_REPLACE };
    const char *name = attrs[op->seed % ARRAY_SIZE(attrs)];
    struct proc_path path;
    uint8_t value[64];

    (void) out;
    fill(value, sizeof value, op->seed);
    return checked(lsetxattr(proc_path(&path, side, op), name, value, op->len % sizeof value, flags[op->seed / 8 % 4]));
}

static int64_t run_getxattr(struct side *side, const struct op *op, struct outcome *out)
{
    struct proc_path path;
    int64_t r =
        checked(lgetxattr(proc_path(&path, side, op), attrs[op->seed % ARRAY_SIZE(attrs)], out->data, op->len % 80));

    out->len = r > 0 && op->len % 80 != 0 ? (size_t) r : 0;
    return r;
}

static int64_t run_removexattr(struct side *side, const struct op *op, struct outcome *out)
{
    struct proc_path path;

    (void) out;
    return checked(lremovexattr(proc_path(&path, side, op), attrs[op->seed % ARRAY_SIZE(attrs)]));
}

/* An ACL as the kernel takes it: version 2, then tag, rights, id; whose access that is depends on the mask. */
static int64_t run_setacl(struct side *side, const struct op *op, struct outcome *out)
{
    const struct {
        uint32_t version;
        struct {
            uint16_t tag, rights;
            uint32_t id;
        } entry[6];
    } acl = { 2,
              { { 0x01, op->mode >> 6 & 7, UINT32_MAX },
                { 0x02, (uint16_t) (op->seed / 16 % 8), 1000 },
                { 0x04, op->mode >> 3 & 7, UINT32_MAX },
                { 0x08, (uint16_t) (op->seed / 128 % 8), 3000 },
                { 0x10, (uint16_t) (op->seed / 1024 % 8), UINT32_MAX },
                { 0x20, op->mode & 7, UINT32_MAX } } };
    const char *name = op->seed % 2 == 0 ? "system.posix_acl_access" : "system.posix_acl_default";
    struct proc_path path;

    (void) out;
    if (op->seed % 5 == 0)
        return checked(lremovexattr(proc_path(&path, side, op), name));
    return checked(lsetxattr(proc_path(&path, side, op), name, &acl, sizeof acl, 0));
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *) a, *(char *const *) b);
}

/* Names as one text, sorted. */
static void put_sorted(char *name[], size_t n, struct outcome *out)
{
    qsort(name, n, sizeof *name, by_name);
    for (size_t i = 0; i < n; i++)
        out->len += (size_t) snprintf((char *) out->data + out->len, MAX_IO - out->len, "%s\n", name[i]);
}

static int64_t run_listxattr(struct side *side, const struct op *op, struct outcome *out)
{
    struct proc_path path;
    char list[4096], *name[64];
    int64_t r = checked(llistxattr(proc_path(&path, side, op), list, sizeof list));
    size_t n = 0;

    for (char *at = list; r > 0 && at < list + r && n < ARRAY_SIZE(name); at += strlen(at) + 1)
        name[n++] = at;
    put_sorted(name, n, out);
    return r;
}

static int64_t run_list(struct side *side, const struct op *op, struct outcome *out)
{
    char *name[64];
    size_t n = 0;
    int fd = openat(side->root, from_path(op), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (dir == NULL)
        return -errno;
    for (struct dirent *entry; n < ARRAY_SIZE(name) && (entry = readdir(dir)) != NULL; n++)
        if (asprintf(&name[n], "%s %d", entry->d_name, entry->d_type) < 0)
            abort();
    put_sorted(name, n, out);
    for (size_t i = 0; i < n; i++)
        free(name[i]);
    closedir(dir);
    return (int64_t) n;
}

/* -- all of them -- */

static const struct kind {
    const char *name;
    int64_t (*run)(struct side *side, const struct op *op, struct outcome *out);
    unsigned weight;
    enum { NAMES = 0, FD = 1, MOVES_TIMES = 2 } needs;
} kinds[] = {
    { "open", run_open, 14, NAMES },
    { "tmpfile", run_tmpfile, 1, NAMES },
    { "reopen", run_reopen, 2, FD },
    { "close", run_close, 4, FD },
    { "dup", run_dup, 2, FD },
    { "pread", run_pread, 10, FD },
    { "pwrite", run_pwrite, 18, FD | MOVES_TIMES },
    { "read", run_read, 5, FD },
    { "write", run_write, 8, FD | MOVES_TIMES },
    { "preadv", run_readv, 3, FD },
    { "pwritev", run_writev, 3, FD | MOVES_TIMES },
    { "lseek", run_seek, 3, FD },
    { "ftruncate", run_ftruncate, 8, FD | MOVES_TIMES },
    { "fallocate", run_allocate, 6, FD },
    { "fsync", run_sync, 2, FD },
    { "copy_file_range", run_copy, 4, FD },
    { "mmap", run_map, 6, FD },
    { "fork", run_fork, 1, FD | MOVES_TIMES },
    { "fchmod", run_fchmod, 1, FD | MOVES_TIMES },
    { "futimens", run_futimens, 1, FD },
    { "fsetxattr", run_fsetxattr, 1, FD },
    { "flock", run_lock, 2, FD },
    { "stat", run_stat, 2, NAMES },
    { "access", run_access, 3, NAMES },
    { "truncate", run_truncate, 4, MOVES_TIMES },
    { "rename", run_rename, 10, MOVES_TIMES },
    { "link", run_link, 4, MOVES_TIMES },
    { "symlink", run_symlink, 3, MOVES_TIMES },
    { "readlink", run_readlink, 2, NAMES },
    { "unlink", run_unlink, 6, MOVES_TIMES },
    { "rmdir", run_rmdir, 2, MOVES_TIMES },
    { "mkdir", run_mkdir, 6, MOVES_TIMES },
    { "mknod", run_mknod, 2, MOVES_TIMES },
    { "chmod", run_chmod, 4, MOVES_TIMES },
    { "chown", run_chown, 4, MOVES_TIMES },
    { "utimens", run_utimens, 4, NAMES },
    { "setxattr", run_setxattr, 4, NAMES },
    { "getxattr", run_getxattr, 3, NAMES },
    { "removexattr", run_removexattr, 2, NAMES },
    { "setacl", run_setacl, 2, NAMES },
    { "listxattr", run_listxattr, 2, NAMES },
    { "list", run_list, 4, NAMES },
};

const char *op_name(const struct op *op)
{
    return kinds[op->kind].name;
}

bool op_moves_times(const struct op *op)
{
    return (kinds[op->kind].needs & MOVES_TIMES) != 0;
}

static unsigned make_kind(struct rng *rng)
{
    unsigned total = 0, at;

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        total += kinds[i].weight;
    at = (unsigned) rng_below(rng, total);
    for (unsigned i = 0;; i++) {
        if (at < kinds[i].weight)
            return i;
        at -= kinds[i].weight;
    }
}

/* Small ones, odd ones, block-sized ones, a few up to 2^40. */
static uint64_t make_off(struct rng *rng)
{
    switch (rng_below(rng, 8)) {
    case 0:
        return 0;
    case 1:
        return rng_below(rng, 300) * PAGE;
    case 2:
        return rng_chance(rng, 20) ? (UINT64_C(1) << 40) - rng_below(rng, 10000) : rng_below(rng, UINT64_C(1) << 33);
    case 3:
        return rng_below(rng, 2 << 20);
    default:
        return rng_below(rng, 20000);
    }
}

static size_t make_len(struct rng *rng)
{
    switch (rng_below(rng, 6)) {
    case 0:
        return rng_below(rng, 4);
    case 1:
        return rng_below(rng, MAX_IO);
    case 2:
        return PAGE * rng_below(rng, 20);
    default:
        return rng_below(rng, 5000);
    }
}

static int make_flags(struct rng *rng)
{
    static const int some[] = {
        O_APPEND, O_EXCL, O_TRUNC, O_DIRECT, O_SYNC, O_DSYNC, O_NOFOLLOW, O_TRUNC, O_DIRECTORY
    };
    static const int access[] = { O_RDONLY, O_WRONLY, O_RDWR, O_RDWR };
    int flags = access[rng_below(rng, 4)] | (rng_chance(rng, 70) ? O_CREAT : 0);

    if (rng_chance(rng, 40))
        flags |= some[rng_below(rng, ARRAY_SIZE(some))];
    return flags;
}

static mode_t make_mode(struct rng *rng)
{
    static const mode_t usual[] = { 0644, 0755, 0600, 0777, 0666, 01777, 02775, 06755, 0 };

    return rng_chance(rng, 70) ? usual[rng_below(rng, ARRAY_SIZE(usual))] : (mode_t) rng_below(rng, 010000);
}

static struct timespec make_time(struct rng *rng)
{
    switch (rng_below(rng, 4)) {
    case 0:
        return (struct timespec){ .tv_nsec = UTIME_NOW };
    case 1:
        return (struct timespec){ .tv_nsec = UTIME_OMIT };
    default:
        return (struct timespec){ .tv_sec = (time_t) rng_below(rng, INT32_MAX) - (rng_chance(rng, 10) ? INT32_MAX : 0),
                                  .tv_nsec = (long) rng_below(rng, 1000000000) };
    }
}

struct op op_make(struct rng *rng)
{
    static const mode_t umasks[] = { 0, 022, 077, 027 };

    return (struct op){ .kind = make_kind(rng),
                        .from = (unsigned) rng_below(rng, ARRAY_SIZE(paths)),
                        .to = (unsigned) rng_below(rng, ARRAY_SIZE(paths)),
                        .fd = (unsigned) rng_below(rng, N_FDS),
                        .fd2 = (unsigned) rng_below(rng, N_FDS),
                        .flags = make_flags(rng),
                        .mode = make_mode(rng),
                        .umask = umasks[rng_below(rng, 4)],
                        .uid = rng_chance(rng, 25) ? 1000 : 0,
                        .off = make_off(rng),
                        .off2 = make_off(rng),
                        .len = make_len(rng),
                        .seed = rng_u64(rng) >> 1,
                        .times = { make_time(rng), make_time(rng) } };
}

static unsigned kind_of(int64_t (*run)(struct side *, const struct op *, struct outcome *))
{
    unsigned i = 0;

    while (kinds[i].run != run)
        i++;
    return i;
}

struct op op_make_start(struct rng *rng, unsigned n)
{
    static const unsigned dirs[] = { 3, 4, 7 };
    struct op op = op_make(rng);

    op.uid = 0;
    if (n < ARRAY_SIZE(dirs)) {
        op.kind = kind_of(run_mkdir);
        op.from = dirs[n];
        op.mode = 0777;
        return op;
    }
    op.kind = kind_of(run_open);
    op.fd = (unsigned) (n - ARRAY_SIZE(dirs)) % N_FDS;
    op.flags |= O_CREAT;
    return op;
}

static void become(uid_t uid)
{
    static const gid_t groups[] = { 1000, 3000 };

    if (geteuid() != 0 && seteuid(0) < 0)
        abort();
    if (setgroups(uid != 0 ? 2 : 0, groups) < 0 || setegid(uid) < 0 || seteuid(uid) < 0)
        abort();
}

void op_run(struct side *side, const struct op *op, struct outcome *outcome)
{
    const struct kind *kind = &kinds[op->kind];

    outcome->len = 0;
    if ((kind->needs & FD) != 0 && fd_of(side, op) < 0) {
        outcome->r = -EBADF;
        return;
    }
    umask(op->umask);
    if (op->uid != 0)
        become(op->uid);
    outcome->r = kind->run(side, op, outcome);
    if (op->uid != 0)
        become(0);
}

bool op_may_differ(struct side side[2], const struct op *op, const struct outcome outcome[2])
{
    /* O_TMPFILE need not be there. */
    if (kinds[op->kind].run == run_tmpfile && outcome[0].r == -EOPNOTSUPP && outcome[1].r == 0) {
        for (int i = 0; i < 2; i++) {
            if (side[i].fd[op->fd] >= 0)
                close(side[i].fd[op->fd]);
            side[i].fd[op->fd] = -1;
        }
        return true;
    }
    return false;
}

void op_print(const struct op *op, const struct outcome outcome[2])
{
    printf("    %-15s uid %4u  %-12s %-12s fd %u fd2 %u  off %" PRIu64 " off2 %" PRIu64 " len %zu  flags %#o mode %04o "
           "umask %03o seed %" PRIu64 "  -> %" PRId64 ", %" PRId64 "\n",
           op_name(op), op->uid, from_path(op), to_path(op), op->fd, op->fd2, op->off, op->off2, op->len,
           (unsigned) op->flags, op->mode, op->umask, op->seed, outcome[0].r, outcome[1].r);
}
