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
#ifndef FALLSFS_FS_CORE_DISK_DISK_H
#define FALLSFS_FS_CORE_DISK_DISK_H

#include "fs/core/disk/watch.h"

#include <stddef.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>

/* Whom an operation is done for: the owner and group of what it makes, and the mask of its mode. */
struct cred {
    uid_t uid;
    gid_t gid;
    mode_t umask;
    pid_t pid; /* the thread whose supplementary groups count; 0: none do */
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
    /* preadv: with no_wait, -EAGAIN rather than wait for the device, -EOPNOTSUPP where that cannot be asked for */
    ssize_t (*preadv)(void *ctx, int fd, const struct iovec *iov, int n_iov, uint64_t off, bool no_wait);
    ssize_t (*pwritev)(void *ctx, int fd, const struct iovec *iov, int n_iov, uint64_t off);
    int (*truncate)(void *ctx, int fd, uint64_t size);
    int (*allocate)(void *ctx, int fd, int mode, uint64_t off, uint64_t len);
    /* map: maps a part of a file, shared, to read and to write; returns NULL when that fails. The member itself is NULL
     * on disks where nothing can be mapped. */
    void *(*map)(void *ctx, int fd, uint64_t off, size_t len);
    void (*unmap)(void *ctx, void *addr, size_t len);
    /* prefetch: begins to read a part of a file, and waits for nothing. NULL on disks that cannot. */
    int (*prefetch)(void *ctx, int fd, uint64_t off, uint64_t len);
    /* to_pipe: moves bytes of a file into a pipe without copying them: fewer at the end of the file, or than the pipe
     * has room for. NULL on disks that cannot. */
    ssize_t (*to_pipe)(void *ctx, int fd, uint64_t off, int pipe, size_t len);
    int64_t (*seek)(void *ctx, int fd, uint64_t off, int whence);
    int (*sync)(void *ctx, int fd, enum disk_sync how);
    int (*lock)(void *ctx, int fd);      /* exclusively, across NFS too; -EAGAIN when somebody else has it */
    int (*is_locked)(void *ctx, int fd); /* whether somebody else has it; NULL where that cannot be asked */

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

    /* assume: until resume, what this thread creates belongs to cred, and permissions are checked for cred */
    int (*assume)(void *ctx, const struct cred *cred);
    void (*resume)(void *ctx);
};

/* The disks of this machine, by system calls; ctx is not used. */
extern const struct disk_ops disk_local_ops;

#define DISK_UUID_SIZE 16

enum disk_standing {
    DISK_IN,
    DISK_LEAVING, /* nothing new goes there */
    DISK_GONE,    /* it has left the volume; its place in the list stays empty */
};

struct disk {
    const struct disk_ops *ops;
    void *ctx;
    struct watch *watch; /* NULL: nobody watches the disk */
    char *path;          /* as given */
    char *pool;          /* empty: none */
    uint32_t index;
    uint8_t uuid[DISK_UUID_SIZE];
    atomic_int standing; /* enum disk_standing */
    atomic_int root;     /* .fallsfs; -1: the disk is absent */
    int lock;            /* open while the volume is in use */
    dev_t dev;           /* the file system it lies on; several disks may share one */
    bool is_read_only;   /* of a disk that nobody watches; ask disk_is_read_only */
    atomic_uint_least64_t
        probed; /* clock_ms when somebody last wrote there to see whether it fails, twice, and if so 1 */
    atomic_uint_least64_t read_call; /* ns that a read takes which follows no other; 0: nobody has measured the disk */
    atomic_uint_least64_t read_mib;  /* ns that each MiB takes then */
    atomic_bool is_tight;            /* nearly full: new files go to others, if they may; room.h */
    atomic_uint_least64_t share; /* free bytes of its file system, as last told, divided by the disks that lie on it */
    bool nameless; /* files without a name work there: made so, or removed while open. On NFS they do not */
};

/* What a member of the table is counted as. */
static inline enum watch_kind disk_kind_of(size_t member)
{
    return member == offsetof(struct disk_ops, preadv) || member == offsetof(struct disk_ops, to_pipe) ? WATCH_READS
           : member == offsetof(struct disk_ops, pwritev)                                              ? WATCH_WRITES
           : member == offsetof(struct disk_ops, sync)                                                 ? WATCH_SYNCS
                                                                                                       : WATCH_OTHERS;
}

/* Calls a member of the disk's table; every call to a disk goes through here. The disk is not asked when it is stalled
 * and enough threads wait for it (-ETIMEDOUT), or when it is dead (-EIO). Errors are told to the disk's listener. */
#define disk_call(which, call, ...)                                                         \
    (__extension__({                                                                        \
        const struct disk *_disk = (which);                                                 \
        int _seat;                                                                          \
        __typeof__(_disk->ops->call(_disk->ctx, __VA_ARGS__)) _result =                     \
            disk_call_from(_disk, &_seat, call, _disk->ops->call(_disk->ctx, __VA_ARGS__)); \
        if (_result < 0 && trouble_of_call(_disk, #call, (int) _result, _seat))             \
            disk_note_error(_disk, disk_kind_of(offsetof(struct disk_ops, call)));          \
        _result;                                                                            \
    }))

/* Calls a member of the disk's table, like disk_call, with a question that the disk may well refuse: an error is no
 * trouble, and no listener is told. */
#define disk_ask(which, call, ...)                                                      \
    (__extension__({                                                                    \
        const struct disk *_disk = (which);                                             \
        int _seat;                                                                      \
        disk_call_from(_disk, &_seat, call, _disk->ops->call(_disk->ctx, __VA_ARGS__)); \
    }))

/* Calls a disk from a seat of its watch, for the two macros above: *seat is the one that watch_enter gave. */
#define disk_call_from(disk, seat, call, asking)                                                                      \
    (__extension__({                                                                                                  \
        uint64_t _began = 0, _ended = 0;                                                                              \
        *(seat) = (disk)->watch != NULL ? watch_enter((disk)->watch, &_began) : WATCH_CROWDED;                        \
        __typeof__(asking) _answer = *(seat) == WATCH_STALLED ? -ETIMEDOUT : *(seat) == WATCH_DEAD ? -EIO : (asking); \
        if (_began > 0)                                                                                               \
            _ended = watch_count((disk)->watch, disk_kind_of(offsetof(struct disk_ops, call)), _began, _answer);      \
        if ((disk)->watch != NULL)                                                                                    \
            watch_leave((disk)->watch, *(seat), _ended);                                                              \
        _answer;                                                                                                      \
    }))

/* Counts a call that failed by the disk's fault. */
static inline void disk_note_error(const struct disk *disk, enum watch_kind kind)
{
    if (disk->watch != NULL)
        tally_note_error(&disk->watch->tally[kind]);
}

/* Whether nobody may write to the disk, as far as has been found out. */
static inline bool disk_is_read_only(const struct disk *disk)
{
    return disk->watch != NULL ? atomic_load_explicit(&disk->watch->is_read_only, memory_order_relaxed)
                               : disk->is_read_only;
}

#define DISK_READ_CALL 100000u /* ns, of a disk that nobody has measured */
#define DISK_READ_MIB  500000u

/* What it takes a disk to read so many bytes, in ns. */
static inline double disk_read_ns(const struct disk *disk, uint64_t bytes)
{
    const uint64_t call = atomic_load_explicit(&disk->read_call, memory_order_relaxed);
    const uint64_t mib = atomic_load_explicit(&disk->read_mib, memory_order_relaxed);
    const double mibs = (double) bytes / (1 << 20);

    return call > 0 ? (double) call + (double) mib * mibs : DISK_READ_CALL + DISK_READ_MIB * mibs;
}

/* Whether new files leave the disk out, unless somebody names it: it is read-only, or nearly full. */
static inline bool disk_is_left_out(const struct disk *disk)
{
    return disk_is_read_only(disk) || atomic_load_explicit(&disk->is_tight, memory_order_relaxed);
}

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
