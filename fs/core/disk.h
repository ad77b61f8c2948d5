/* SPDX-License-Identifier: MIT */
/* A disk is a directory given to the volume. Whatever fallsfs does to one goes through this table, so that tests can
 * put a simulated disk in its place, crash it at any call, and fail any call.
 *
 *     mount    disk_local_ops  ──>  system calls
 *     tests    simulated disks ──>  memory
 *
 * Calls return what the system call would, or -errno. A path is relative to the directory dir; the empty path means the
 * file that dir itself refers to. The last component of a path is never followed when it is a symlink; open and unlink
 * follow none on the way either. */
#ifndef FALLSFS_FS_CORE_DISK_H
#define FALLSFS_FS_CORE_DISK_H

#include "fs/core/watch.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>

/* Who asks: owner and group of new names, and what their mode is masked with. */
struct cred {
    uid_t uid;
    gid_t gid;
    mode_t umask;
    pid_t pid; /* a thread whose supplementary groups count; 0: none do */
};

enum disk_sync {
    SYNC_START, /* begin to write file data, wait for nothing */
    SYNC_WAIT,  /* wait for what is being written; an error is told to this descriptor */
    SYNC_DATA,  /* data and what is needed to find it */
    SYNC_ALL,   /* everything about a file, or a directory's entries */
    SYNC_DISK,  /* everything on the file system that fd lies on */
};

struct disk_ops {
    int (*open)(void *ctx, int dir, const char *path, int flags, mode_t mode); /* O_CLOEXEC is understood */
    int (*close)(void *ctx, int fd);
    /* no_wait: -EAGAIN rather than wait for the device, -EOPNOTSUPP where that cannot be asked for */
    ssize_t (*preadv)(void *ctx, int fd, const struct iovec *iov, int n_iov, uint64_t off, bool no_wait);
    ssize_t (*pwritev)(void *ctx, int fd, const struct iovec *iov, int n_iov, uint64_t off);
    int (*truncate)(void *ctx, int fd, uint64_t size);
    int (*allocate)(void *ctx, int fd, int mode, uint64_t off, uint64_t len);
    /* Shared, to read and to write; NULL when that cannot be. The function itself is NULL where nothing can. */
    void *(*map)(void *ctx, int fd, uint64_t off, size_t len);
    void (*unmap)(void *ctx, void *addr, size_t len);
    /* Begins to read, waits for nothing; NULL where that cannot be. */
    int (*prefetch)(void *ctx, int fd, uint64_t off, uint64_t len);
    /* Bytes of a file into a pipe, none of which is copied: fewer at the end of the file, or than the pipe has room
     * for. NULL where that cannot be. */
    ssize_t (*to_pipe)(void *ctx, int fd, uint64_t off, int pipe, size_t len);
    int64_t (*seek)(void *ctx, int fd, uint64_t off, int whence);
    int (*sync)(void *ctx, int fd, enum disk_sync how);
    int (*lock)(void *ctx, int fd); /* exclusively, across NFS too; -EAGAIN when somebody else has it */

    int (*stat)(void *ctx, int dir, const char *path, struct stat *ret_stat);
    int (*statfs)(void *ctx, int fd, struct statvfs *ret_statfs);
    ssize_t (*read_dir)(void *ctx, int fd, void *buf, size_t size); /* as getdents64 */
    ssize_t (*read_link)(void *ctx, int dir, const char *path, char *buf, size_t size);
    int (*link)(void *ctx, int from_dir, const char *from, int to_dir, const char *to);
    int (*rename)(void *ctx, int from_dir, const char *from, int to_dir, const char *to, unsigned flags);
    int (*unlink)(void *ctx, int dir, const char *path, int flags); /* AT_REMOVEDIR */
    int (*mkdir)(void *ctx, int dir, const char *path, mode_t mode);
    int (*symlink)(void *ctx, const char *target, int dir, const char *path);
    int (*mknod)(void *ctx, int dir, const char *path, mode_t mode, dev_t dev);

    int (*chmod)(void *ctx, int dir, const char *path, mode_t mode);
    int (*chown)(void *ctx, int dir, const char *path, uid_t uid, gid_t gid);
    int (*set_times)(void *ctx, int dir, const char *path, const struct timespec times[2]);
    ssize_t (*get_xattr)(void *ctx, int dir, const char *path, const char *name, void *value, size_t size);
    int (*set_xattr)(void *ctx, int dir, const char *path, const char *name, const void *value, size_t size, int flags);
    ssize_t (*list_xattr)(void *ctx, int dir, const char *path, char *list, size_t size);
    int (*remove_xattr)(void *ctx, int dir, const char *path, const char *name);

    /* From here to resume, what this thread creates belongs to cred, and permissions are checked for it. */
    int (*assume)(void *ctx, const struct cred *cred);
    void (*resume)(void *ctx);
};

/* The ones of this machine; ctx is not used. */
extern const struct disk_ops disk_local_ops;

#define DISK_UUID_SIZE 16

enum disk_standing {
    DISK_IN,
    DISK_LEAVING, /* nothing new goes there */
    DISK_GONE,    /* not one of the volume any more; its place stays empty */
};

struct disk {
    const struct disk_ops *ops;
    void *ctx;
    struct watch *watch; /* NULL: nobody looks */
    char *path;          /* as given */
    char *pool;          /* empty: none */
    uint32_t index;
    uint8_t uuid[DISK_UUID_SIZE];
    atomic_int standing; /* enum disk_standing */
    atomic_int root;     /* .fallsfs; -1: the disk is absent */
    int lock;            /* open while the volume is in use */
    dev_t dev;           /* the file system it lies on; several disks may share one */
    bool nameless;       /* knows files without a name: made so, or removed while open. NFS does not */
};

/* Every call to a disk. Without asking it: -ETIMEDOUT when it is stalled and enough are waiting, -EIO when it is dead.
 */
#define disk_call(which, call, ...)                                                   \
    (__extension__({                                                                  \
        const struct disk *_disk = (which);                                           \
        int _seat = _disk->watch != NULL ? watch_enter(_disk->watch) : WATCH_CROWDED; \
        __typeof__(_disk->ops->call(_disk->ctx, __VA_ARGS__)) _result =               \
            _seat == WATCH_STALLED ? -ETIMEDOUT                                       \
            : _seat == WATCH_DEAD  ? -EIO                                             \
                                   : _disk->ops->call(_disk->ctx, __VA_ARGS__);        \
        if (_disk->watch != NULL)                                                     \
            watch_leave(_disk->watch, _seat);                                         \
        _result;                                                                      \
    }))

static inline void disk_close(const struct disk *disk, int *fd)
{
    if (*fd >= 0)
        (void) disk->ops->close(disk->ctx, *fd);
    *fd = -1;
}

static inline void disk_close_root(struct disk *disk)
{
    int root = atomic_exchange(&disk->root, -1);

    disk_close(disk, &root);
}

#endif
