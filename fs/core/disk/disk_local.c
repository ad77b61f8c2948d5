/* SPDX-License-Identifier: MIT */
#include "fs/core/disk/disk.h"

#include "fs/core/disk/file_times.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#define MAX_GROUPS 65536

/* The result of a system call, or -errno where it returned -1. */
#define CHECKED(call)                            \
    (__extension__({                             \
        __typeof__(call) _r = (call);            \
        _r < 0 ? (__typeof__(call)) -errno : _r; \
    }))

/* A path through /proc to a name in a directory, or to the file that a descriptor refers to. It is for system calls
 * that take no empty path, or take none with an O_PATH descriptor. It takes as long as the call itself: what is called
 * often tries another way first. */
struct proc_path {
    char s[32 + PATH_MAX];
};

static const char *proc_path(struct proc_path *proc, int dir, const char *path)
{
    snprintf(proc->s, sizeof proc->s, *path != 0 ? "/proc/self/fd/%d/%s" : "/proc/self/fd/%d", dir, path);
    return proc->s;
}

/* Opens a path of several components without following a symlink on the way: whoever can write a disk may have put one
 * in the place of a directory. */
static int open_beneath(int dir, const char *path, int flags, mode_t mode)
{
    bool makes = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
    struct open_how how = { .flags = (unsigned) flags,
                            .mode = makes ? mode : 0,
                            .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };

    return (int) syscall(SYS_openat2, dir, path, &how, sizeof how);
}

static int open_once(int dir, const char *path, int flags, mode_t mode)
{
    if (strchr(path, '/') != NULL)
        return CHECKED(open_beneath(dir, path, flags | O_NOFOLLOW | O_CLOEXEC, mode));
    if (*path != 0)
        return CHECKED(openat(dir, path, flags | O_NOFOLLOW | O_CLOEXEC, mode));
    /* An empty path opens once more the file that dir, often an O_PATH descriptor, refers to. */
    struct proc_path proc;

    return CHECKED(open(proc_path(&proc, dir, ""), flags | O_CLOEXEC, mode));
}

/* An NFS server may have delegated the file to a client that was here before. It takes that back then, and meanwhile
 * whoever opens the file with O_NONBLOCK gets -EAGAIN: so the file is opened again for some seconds. */
static int local_open(void *ctx, int dir, const char *path, int flags, mode_t mode)
{
    const struct timespec a_while = { .tv_nsec = 50000000 };
    int fd = open_once(dir, path, flags, mode);

    (void) ctx;
    for (int i = 0; fd == -EAGAIN && i < 100; i++) {
        nanosleep(&a_while, NULL);
        fd = open_once(dir, path, flags, mode);
    }
    return fd;
}

static int local_close(void *ctx, int fd)
{
    (void) ctx;
    return CHECKED(close(fd));
}

static ssize_t local_preadv(void *ctx, int fd, const struct iovec *iov, int n_iov, uint64_t off, bool no_wait)
{
    (void) ctx;
    return CHECKED(preadv2(fd, iov, n_iov, (off_t) off, no_wait ? RWF_NOWAIT : 0));
}

static ssize_t local_pwritev(void *ctx, int fd, const struct iovec *iov, int n_iov, uint64_t off)
{
    (void) ctx;
    return CHECKED(pwritev(fd, iov, n_iov, (off_t) off));
}

static int local_truncate(void *ctx, int fd, uint64_t size)
{
    (void) ctx;
    return CHECKED(ftruncate(fd, (off_t) size));
}

static int local_allocate(void *ctx, int fd, int mode, uint64_t off, uint64_t len)
{
    (void) ctx;
    return CHECKED(fallocate(fd, mode, (off_t) off, (off_t) len));
}

static void *local_map(void *ctx, int fd, uint64_t off, size_t len)
{
    void *addr = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t) off);

    (void) ctx;
    return addr != MAP_FAILED ? addr : NULL;
}

static void local_unmap(void *ctx, void *addr, size_t len)
{
    (void) ctx;
    (void) munmap(addr, len);
}

static int local_prefetch(void *ctx, int fd, uint64_t off, uint64_t len)
{
    (void) ctx;
    return -posix_fadvise(fd, (off_t) off, (off_t) len, POSIX_FADV_WILLNEED);
}

static ssize_t local_to_pipe(void *ctx, int fd, uint64_t off, int pipe, size_t len)
{
    loff_t at = (loff_t) off;

    (void) ctx;
    return CHECKED(splice(fd, &at, pipe, NULL, len, SPLICE_F_NONBLOCK)); /* waits for nobody to empty a full pipe */
}

static int64_t local_seek(void *ctx, int fd, uint64_t off, int whence)
{
    (void) ctx;
    return CHECKED(lseek(fd, (off_t) off, whence));
}

static int local_sync(void *ctx, int fd, enum disk_sync how)
{
    (void) ctx;
    switch (how) {
    case SYNC_START:
        return CHECKED(sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE));
    case SYNC_WAIT:
        return CHECKED(sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WAIT_AFTER));
    case SYNC_DATA:
        return CHECKED(fdatasync(fd));
    case SYNC_ALL:
        return CHECKED(fsync(fd));
    case SYNC_DISK:
        return CHECKED(syncfs(fd));
    }
    return -EINVAL;
}

static int local_lock(void *ctx, int fd)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    int r = CHECKED(fcntl(fd, F_OFD_SETLK, &lock));

    (void) ctx;
    return r == -EACCES ? -EAGAIN : r;
}

static int local_is_locked(void *ctx, int fd)
{
    struct flock asked = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    int r = CHECKED(fcntl(fd, F_OFD_GETLK, &asked));

    (void) ctx;
    return r < 0 ? r : asked.l_type != F_UNLCK;
}

static int local_stat(void *ctx, int dir, const char *path, struct stat *ret_stat)
{
    int r = CHECKED(fstatat(dir, path, ret_stat, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW));

    (void) ctx;
    if (r == 0)
        file_times_see(ret_stat);
    return r;
}

static int local_statfs(void *ctx, int fd, struct statvfs *ret_statfs)
{
    (void) ctx;
    return CHECKED(fstatvfs(fd, ret_statfs));
}

static ssize_t local_read_dir(void *ctx, int fd, void *buf, size_t size)
{
    (void) ctx;
    return CHECKED(getdents64(fd, buf, size));
}

static ssize_t local_read_link(void *ctx, int dir, const char *path, char *buf, size_t size)
{
    (void) ctx;
    return CHECKED(readlinkat(dir, path, buf, size));
}

static int local_link(void *ctx, int from_dir, const char *from, int to_dir, const char *to)
{
    struct proc_path proc;
    int r;

    (void) ctx;
    if (*from != 0)
        return CHECKED(linkat(from_dir, from, to_dir, to, 0));
    r = CHECKED(linkat(from_dir, "", to_dir, to, AT_EMPTY_PATH));
    if (r != -ENOENT) /* the kernel refuses empty paths of ordinary users so */
        return r;
    return CHECKED(linkat(AT_FDCWD, proc_path(&proc, from_dir, ""), to_dir, to, AT_SYMLINK_FOLLOW));
}

static int local_rename(void *ctx, int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    (void) ctx;
    return CHECKED(renameat2(from_dir, from, to_dir, to, flags));
}

static int local_unlink(void *ctx, int dir, const char *path, int flags)
{
    const char *slash = strrchr(path, '/');
    char parent[256];
    int fd, r;

    (void) ctx;
    if (slash == NULL)
        return CHECKED(unlinkat(dir, path, flags));
    if ((size_t) (slash - path) >= sizeof parent)
        return -ENAMETOOLONG;
    snprintf(parent, sizeof parent, "%.*s", (int) (slash - path), path);
    fd = CHECKED(open_beneath(dir, parent, O_PATH | O_DIRECTORY | O_CLOEXEC, 0));
    if (fd < 0)
        return fd;
    r = CHECKED(unlinkat(fd, slash + 1, flags));
    close(fd);
    return r;
}

static int local_mkdir(void *ctx, int dir, const char *path, mode_t mode)
{
    (void) ctx;
    return CHECKED(mkdirat(dir, path, mode));
}

static int local_symlink(void *ctx, const char *target, int dir, const char *path)
{
    (void) ctx;
    return CHECKED(symlinkat(target, dir, path));
}

static int local_mknod(void *ctx, int dir, const char *path, mode_t mode, dev_t dev)
{
    (void) ctx;
    return CHECKED(mknodat(dir, path, mode, dev));
}

static int local_chmod(void *ctx, int dir, const char *path, mode_t mode)
{
    struct proc_path proc;

    (void) ctx;
    return CHECKED(chmod(proc_path(&proc, dir, path), mode));
}

static int local_chown(void *ctx, int dir, const char *path, uid_t uid, gid_t gid)
{
    (void) ctx;
    return CHECKED(fchownat(dir, path, uid, gid, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW));
}

static int local_set_times(void *ctx, int dir, const char *path, const struct timespec times[2])
{
    (void) ctx;
    return CHECKED(utimensat(dir, path, times, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW));
}

/* The number of getxattrat, which Linux has from 6.13 on, for an attribute of a name in a directory; libc has no
 * function for it yet. */
#define GETXATTRAT 464

struct xattr_args {
    uint64_t value;
    uint32_t size, flags;
};

static ssize_t get_xattr_at(int dir, const char *path, const char *name, void *value, size_t size)
{
    static atomic_bool is_unknown;
    struct xattr_args args = { .value = (uintptr_t) value, .size = (uint32_t) size };
    struct proc_path proc;
    ssize_t n = -ENOSYS;

    if (!atomic_load_explicit(&is_unknown, memory_order_relaxed))
        n = CHECKED(syscall(GETXATTRAT, dir, path, AT_SYMLINK_NOFOLLOW, name, &args, sizeof args));
    if (n != -ENOSYS)
        return n;
    atomic_store(&is_unknown, true);
    return CHECKED(lgetxattr(proc_path(&proc, dir, path), name, value, size));
}

static ssize_t local_get_xattr(void *ctx, int dir, const char *path, const char *name, void *value, size_t size)
{
    struct proc_path proc;
    ssize_t n;

    (void) ctx;
    if (*path != 0)
        return get_xattr_at(dir, path, name, value, size);
    n = CHECKED(fgetxattr(dir, name, value, size));
    return n != -EBADF ? n : CHECKED(getxattr(proc_path(&proc, dir, path), name, value, size));
}

static int local_set_xattr(void *ctx, int dir, const char *path, const char *name, const void *value, size_t size,
                           int flags)
{
    struct proc_path proc;
    int r;

    (void) ctx;
    if (*path != 0)
        return CHECKED(lsetxattr(proc_path(&proc, dir, path), name, value, size, flags));
    r = CHECKED(fsetxattr(dir, name, value, size, flags));
    return r != -EBADF ? r : CHECKED(setxattr(proc_path(&proc, dir, path), name, value, size, flags));
}

static ssize_t local_list_xattr(void *ctx, int dir, const char *path, char *list, size_t size)
{
    struct proc_path proc;

    (void) ctx;
    return *path != 0 ? CHECKED(llistxattr(proc_path(&proc, dir, path), list, size))
                      : CHECKED(listxattr(proc_path(&proc, dir, path), list, size));
}

static int local_remove_xattr(void *ctx, int dir, const char *path, const char *name)
{
    struct proc_path proc;

    (void) ctx;
    return *path != 0 ? CHECKED(lremovexattr(proc_path(&proc, dir, path), name))
                      : CHECKED(removexattr(proc_path(&proc, dir, path), name));
}

/* -- whose name -- */

/* Whom this thread acts for. Threads share a umask, so each first takes one of its own. libc's setgroups changes the
 * groups of all threads, so the system call is made directly. */
static _Thread_local struct {
    bool own_umask;
    bool assumed;
} identity;

static void set_groups(const gid_t *groups, size_t n)
{
    (void) syscall(SYS_setgroups, n, groups);
}

/* Reads the supplementary groups of a thread from /proc, and returns how many there are: none, where that cannot be
 * read. */
static size_t groups_of(pid_t pid, gid_t **ret_groups)
{
    char path[64], *line = NULL;
    size_t size = 0, n = 0;
    gid_t *groups = NULL;
    FILE *in;

    snprintf(path, sizeof path, "/proc/%d/status", pid);
    in = fopen(path, "re");
    while (in != NULL && getline(&line, &size, in) > 0) {
        char *at = line, *end;

        if (strncmp(line, "Groups:", 7) != 0)
            continue;
        for (at += 7; n < MAX_GROUPS; at = end) {
            unsigned long gid = strtoul(at, &end, 10);

            if (end == at)
                break;
            if (!array_grow(groups, n))
                break;
            groups[n++] = (gid_t) gid;
        }
        break;
    }
    if (in != NULL)
        fclose(in);
    free(line);
    *ret_groups = groups;
    return n;
}

static int local_assume(void *ctx, const struct cred *cred)
{
    (void) ctx;
    if (!identity.own_umask && unshare(CLONE_FS) < 0)
        return -errno;
    identity.own_umask = true;
    umask(cred->umask);
    if (geteuid() != 0 || (cred->uid == 0 && cred->gid == 0))
        return 0; /* the daemon of an ordinary user can act for nobody else */
    if (cred->uid != 0) {
        cleanup(freep) gid_t *groups = NULL;
        size_t n = cred->pid != 0 ? groups_of(cred->pid, &groups) : 0;

        set_groups(groups, n);
    }
    setfsgid(cred->gid);
    setfsuid(cred->uid); /* last: it takes the capabilities with it */
    identity.assumed = true;
    return 0;
}

static void local_resume(void *ctx)
{
    (void) ctx;
    umask(0);
    if (!identity.assumed)
        return;
    identity.assumed = false;
    setfsuid(geteuid());
    setfsgid(getegid());
    set_groups(NULL, 0);
}

const struct disk_ops disk_local_ops = {
    .open = local_open,
    .close = local_close,
    .preadv = local_preadv,
    .pwritev = local_pwritev,
    .truncate = local_truncate,
    .allocate = local_allocate,
    .map = local_map,
    .unmap = local_unmap,
    .prefetch = local_prefetch,
    .to_pipe = local_to_pipe,
    .seek = local_seek,
    .sync = local_sync,
    .lock = local_lock,
    .is_locked = local_is_locked,
    .stat = local_stat,
    .statfs = local_statfs,
    .read_dir = local_read_dir,
    .read_link = local_read_link,
    .link = local_link,
    .rename = local_rename,
    .unlink = local_unlink,
    .mkdir = local_mkdir,
    .symlink = local_symlink,
    .mknod = local_mknod,
    .chmod = local_chmod,
    .chown = local_chown,
    .set_times = local_set_times,
    .get_xattr = local_get_xattr,
    .set_xattr = local_set_xattr,
    .list_xattr = local_list_xattr,
    .remove_xattr = local_remove_xattr,
    .assume = local_assume,
    .resume = local_resume,
};
