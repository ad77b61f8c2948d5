/* SPDX-License-Identifier: MIT */
#include "test/support/simfs.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <linux/xattr.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define NS           INT64_C(1000000000)
#define MAX_RW_BYTES ((size_t) 0x7ffff000)
#define MAX_LINKS    65000
#define DEV_MAJOR    250

static _Thread_local struct cred identity;

void simcall_assume(const struct cred *cred)
{
    identity = *cred;
}

void simcall_resume(void)
{
    identity = (struct cred){ 0 };
}

/* -- what all calls need -- */

static const struct sim_inode *inode_of(const struct sim_disk *disk, uint32_t ino)
{
    return simimage_inode(disk->now, ino);
}

static struct sim_change *change_new(struct sim_disk *disk, enum sim_change_kind kind, uint32_t ino)
{
    return sim_change_new(kind, ino, disk->sim->clock);
}

static bool has_room(const struct sim_disk *disk, uint64_t bytes)
{
    return disk->now->used <= disk->capacity && bytes <= disk->capacity - disk->now->used;
}

static bool writes(const struct sim_fd *fd)
{
    return (fd->flags & O_PATH) == 0 && (fd->flags & O_ACCMODE) != O_RDONLY;
}

static bool reads(const struct sim_fd *fd)
{
    return (fd->flags & O_PATH) == 0 && (fd->flags & O_ACCMODE) != O_WRONLY;
}

/* -EBADF also where a descriptor only stands for a place. */
static int usable(struct sim_disk *disk, int number, struct sim_fd **ret_fd)
{
    struct sim_fd *fd = simpath_fd(disk, number);

    if (fd == NULL || (fd->flags & O_PATH) != 0)
        return -EBADF;
    *ret_fd = fd;
    return 0;
}

static uint32_t new_number(struct sim_disk *disk)
{
    size_t i = 0;

    while (i < disk->n_numbers && disk->numbers[i] == UINT64_MAX)
        i++;
    if (i == disk->n_numbers) {
        disk->numbers = sim_realloc(disk->numbers, (i + 1) * sizeof disk->numbers[0]);
        disk->numbers[disk->n_numbers++] = 0;
    }
    for (unsigned bit = 0;; bit++)
        if ((disk->numbers[i] >> bit & 1) == 0) {
            disk->numbers[i] |= UINT64_C(1) << bit;
            return (uint32_t) (64 * i + bit);
        }
}

/* Numbers come back to life, as on real disks. */
static void free_if_unused(struct sim_disk *disk, uint32_t ino)
{
    const struct sim_inode *inode = inode_of(disk, ino);

    if (inode == NULL || inode->nlink > 0 || simpath_in_use(disk, ino))
        return;
    disk->numbers[inode->number / 64] &= ~(UINT64_C(1) << inode->number % 64);
    simcrash_change(disk, change_new(disk, SIM_CHANGE_FREE, ino));
}

void simcall_free_orphans(struct sim_disk *disk)
{
    for (uint32_t ino = 1; ino < disk->now->n_inodes; ino++)
        free_if_unused(disk, ino);
}

/* Where a new name may be made: -EEXIST, -ENOENT in a directory that is gone. */
static int vacant(struct sim_disk *disk, int dir, const char *path, struct sim_place *ret_place)
{
    int r = simpath_place(disk, dir, path, ret_place);

    if (r < 0)
        return r;
    if (ret_place->last != SIM_LAST_NAME || ret_place->ino != 0)
        return -EEXIST;
    if (ret_place->len > NAME_MAX || inode_of(disk, ret_place->dir)->nlink == 0)
        return simpath_absent(disk, ret_place);
    return disk->read_only ? -EROFS : 0;
}

/* An inode of this thread's identity; place NULL: without a name, for good unless linkable. */
static int make(struct sim_disk *disk, uint32_t dir_ino, const struct sim_place *place, mode_t mode, dev_t rdev,
                const char *target, bool linkable)
{
    const struct sim_inode *dir = inode_of(disk, dir_ino);
    struct sim_change *change;

    if (!has_room(disk, simimage_cost_of_inode() + (place != NULL ? simimage_cost_of_name(place->len) : 0)))
        return -ENOSPC;
    change = change_new(disk, SIM_CHANGE_MAKE, disk->next_ino++);
    change->number = new_number(disk);
    change->attr = (struct sim_attr){ .mode = mode, .uid = identity.uid, .gid = identity.gid, .rdev = rdev };
    change->attr.atime = change->attr.mtime = change->attr.ctime = change->stamp;
    if ((dir->attr.mode & S_ISGID) != 0) {
        change->attr.gid = dir->attr.gid;
        if (S_ISDIR(mode))
            change->attr.mode |= S_ISGID;
        else if ((mode & S_IXGRP) != 0 && identity.uid != 0 && identity.gid != dir->attr.gid)
            change->attr.mode &= ~(mode_t) S_ISGID;
    }
    change->mode = !linkable;
    change->data = target != NULL ? sim_blob_new(target, strlen(target)) : NULL;
    if (place != NULL) {
        change->dir = dir_ino;
        change->name = sim_blob_new(place->name, place->len);
    }
    simcrash_change(disk, change);
    return 0;
}

static void set_size(struct sim_disk *disk, uint32_t ino, uint64_t size)
{
    struct sim_change *change = change_new(disk, SIM_CHANGE_SIZE, ino);

    change->size = size;
    simimage_add_edges(inode_of(disk, ino), change);
    simcrash_change(disk, change);
}

/* -- descriptors -- */

static int open_tmpfile(struct sim_disk *disk, uint32_t dir, int flags, mode_t mode)
{
    uint32_t ino = disk->next_ino;
    int r;

    if (!S_ISDIR(inode_of(disk, dir)->attr.mode))
        return -ENOTDIR;
    if (inode_of(disk, dir)->nlink == 0)
        return -ENOENT;
    if ((disk->lacks & SIM_LACKS_TMPFILE) != 0)
        return -EOPNOTSUPP;
    if (disk->read_only)
        return -EROFS;
    r = make(disk, dir, NULL, S_IFREG | mode, 0, NULL, (flags & O_EXCL) == 0);
    return r < 0 ? r : simpath_open(disk, ino, flags & ~O_TMPFILE);
}

static int open_existing(struct sim_disk *disk, uint32_t ino, int flags)
{
    mode_t mode = inode_of(disk, ino)->attr.mode;
    bool changes = (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC) != 0;

    if ((flags & O_CREAT) != 0 && (flags & O_EXCL) != 0)
        return -EEXIST;
    if ((flags & O_CREAT) != 0 && S_ISDIR(mode))
        return -EISDIR;
    if ((flags & O_DIRECTORY) != 0 && !S_ISDIR(mode))
        return -ENOTDIR;
    if ((flags & O_PATH) != 0)
        return simpath_open(disk, ino, flags);
    if (S_ISLNK(mode))
        return -ELOOP;
    if (S_ISDIR(mode) && changes)
        return -EISDIR;
    if (!S_ISDIR(mode) && !S_ISREG(mode))
        return -ENXIO; /* would block, or reach a driver: not for a file system's daemon */
    if (changes && disk->read_only)
        return -EROFS;
    if ((flags & O_TRUNC) != 0)
        set_size(disk, ino, 0);
    return simpath_open(disk, ino, flags);
}

static int open_path(struct sim_disk *disk, int dir, const char *path, int flags, mode_t mode)
{
    struct sim_place place;
    uint32_t ino;
    int r = simpath_place_beneath(disk, dir, path, &place);

    if (r < 0)
        return r;
    if (place.ino != 0)
        return open_existing(disk, place.ino, flags);
    r = (flags & O_CREAT) == 0 ? simpath_absent(disk, &place) : vacant(disk, dir, path, &place);
    if (r < 0)
        return r;
    ino = disk->next_ino;
    r = make(disk, place.dir, &place, S_IFREG | mode, 0, NULL, false);
    return r < 0 ? r : simpath_open(disk, ino, flags);
}

static int find_beneath(struct sim_disk *disk, int dir, const char *path, uint32_t *ret_ino)
{
    struct sim_place place;
    int r = simpath_place_beneath(disk, dir, path, &place);

    if (r == 0 && place.ino == 0)
        r = simpath_absent(disk, &place);
    if (r == 0)
        *ret_ino = place.ino;
    return r;
}

int simcall_open(struct sim_disk *disk, int dir, const char *path, int flags, mode_t mode)
{
    bool tmpfile = (flags & O_TMPFILE & ~O_DIRECTORY) != 0;
    uint32_t ino;
    int r;

    mode &= 07777 & ~identity.umask;
    if ((flags & O_PATH) != 0) {
        flags &= O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
        tmpfile = false;
    }
    if ((flags & O_CREAT) != 0 && (flags & O_DIRECTORY) != 0)
        return -EINVAL;
    if (tmpfile && ((flags & O_DIRECTORY) == 0 || (flags & O_ACCMODE) == O_RDONLY))
        return -EINVAL;
    if (simpath_full(disk->sim))
        return -EMFILE;
    if (*path != 0 && !tmpfile)
        return open_path(disk, dir, path, flags, mode);
    r = *path != 0 ? find_beneath(disk, dir, path, &ino) : simpath_find(disk, dir, path, &ino);
    if (r < 0)
        return r;
    return tmpfile ? open_tmpfile(disk, ino, flags, mode) : open_existing(disk, ino, flags);
}

int simcall_close(struct sim_disk *disk, int number)
{
    struct sim_fd *fd = simpath_fd(disk, number);

    if (fd == NULL)
        return -EBADF;
    fd->fd = -1;
    if (!disk->sim->down) /* afterwards the restart sees to it */
        free_if_unused(disk, fd->ino);
    return 0;
}

int simcall_lock(struct sim_disk *disk, int number)
{
    struct sim_fd *fd = simpath_fd(disk, number);

    if (fd == NULL || !writes(fd))
        return -EBADF;
    for (unsigned i = 0; i < disk->sim->n_fds; i++) {
        const struct sim_fd *other = &disk->sim->fds[i];

        if (other->fd >= 0 && other != fd && other->disk == disk && other->ino == fd->ino && other->locked)
            return -EAGAIN;
    }
    fd->locked = true;
    return 0;
}

/* -- content -- */

static int total_of(const struct iovec *iov, int n_iov, size_t *ret_len)
{
    size_t len = 0;

    if (n_iov < 0 || n_iov > IOV_MAX)
        return -EINVAL;
    for (int i = 0; i < n_iov; i++) {
        if (iov[i].iov_len > SSIZE_MAX)
            return -EINVAL;
        len += MIN(iov[i].iov_len, MAX_RW_BYTES - len);
    }
    *ret_len = len;
    return 0;
}

ssize_t simcall_preadv(struct sim_disk *disk, int number, const struct iovec *iov, int n_iov, uint64_t off,
                       bool no_wait)
{
    const struct sim_inode *inode;
    struct sim_fd *fd = simpath_fd(disk, number);
    size_t len = 0, done = 0;
    int r;

    if (off > INT64_MAX)
        return -EINVAL;
    if (fd == NULL || !reads(fd))
        return -EBADF;
    r = total_of(iov, n_iov, &len);
    if (r < 0 || len == 0)
        return r;
    inode = inode_of(disk, fd->ino);
    if (S_ISDIR(inode->attr.mode))
        return -EISDIR;
    if (no_wait && (disk->lacks & SIM_LACKS_NO_WAIT) != 0)
        return -EOPNOTSUPP;
    len = off >= inode->size ? 0 : (size_t) MIN(len, inode->size - off);
    for (int i = 0; i < n_iov && done < len; i++) {
        size_t n = MIN(iov[i].iov_len, len - done);

        simimage_read(inode, off + done, iov[i].iov_base, n);
        done += n;
    }
    return (ssize_t) done;
}

/* How much of a write finds room. */
static size_t fitting(const struct sim_disk *disk, const struct sim_inode *inode, uint64_t off, size_t len)
{
    uint64_t room = disk->capacity - MIN(disk->capacity, disk->now->used), end = off;

    if (simimage_missing(inode, off, off + len) * SIM_PAGE <= room)
        return len;
    while (end < off + len) {
        if (simimage_missing(inode, end, end + 1) > 0) {
            if (room < SIM_PAGE)
                break;
            room -= SIM_PAGE;
        }
        end = (end / SIM_PAGE + 1) * SIM_PAGE;
    }
    return (size_t) (MIN(end, off + len) - off);
}

/* The sectors as they are after the write. */
static void write_now(struct sim_disk *disk, uint32_t ino, const struct iovec *iov, uint64_t off, size_t len)
{
    const struct sim_inode *inode = inode_of(disk, ino);
    struct sim_change *change = change_new(disk, SIM_CHANGE_WRITE, ino);
    uint64_t end = off + len, sectors_end = (end + SIM_SECTOR - 1) / SIM_SECTOR * SIM_SECTOR;

    change->off = off / SIM_SECTOR * SIM_SECTOR;
    change->end = end;
    change->size = MAX(inode->size, end);
    change->data = sim_blob_new(NULL, (size_t) (sectors_end - change->off));
    simimage_read(inode, change->off, change->data->bytes, change->data->len);
    for (size_t done = 0; done < len; iov++) {
        size_t n = MIN(iov->iov_len, len - done);

        if (n > 0)
            memcpy(change->data->bytes + (off - change->off) + done, iov->iov_base, n);
        done += n;
    }
    simcrash_change(disk, change);
}

ssize_t simcall_pwritev(struct sim_disk *disk, int number, const struct iovec *iov, int n_iov, uint64_t off)
{
    struct sim_fd *fd = simpath_fd(disk, number);
    const struct sim_inode *inode;
    size_t len = 0;
    int r;

    if (off > INT64_MAX)
        return -EINVAL;
    if (fd == NULL || !writes(fd))
        return -EBADF;
    r = total_of(iov, n_iov, &len);
    if (r < 0 || len == 0)
        return r;
    inode = inode_of(disk, fd->ino);
    if ((fd->flags & O_APPEND) != 0)
        off = inode->size;
    if (off >= SIM_MAX_SIZE)
        return -EFBIG;
    if (disk->read_only)
        return -EROFS;
    len = fitting(disk, inode, off, (size_t) MIN(len, SIM_MAX_SIZE - off));
    if (len == 0)
        return -ENOSPC;
    write_now(disk, fd->ino, iov, off, len);
    if ((fd->flags & O_DSYNC) != 0)
        simcrash_sync(disk, fd->ino, SYNC_DATA);
    return (ssize_t) len;
}

int simcall_truncate(struct sim_disk *disk, int number, uint64_t size)
{
    struct sim_fd *fd;
    int r = usable(disk, number, &fd);

    if (size > INT64_MAX)
        return -EINVAL;
    if (r < 0)
        return r;
    if (!writes(fd))
        return -EINVAL;
    if (size > SIM_MAX_SIZE)
        return -EFBIG;
    if (disk->read_only)
        return -EROFS;
    set_size(disk, fd->ino, size);
    return 0;
}

static int check_allocate(const struct sim_disk *disk, const struct sim_fd *fd, int mode, uint64_t off, uint64_t len)
{
    const int known = FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE;

    if (off > INT64_MAX || len > INT64_MAX || len == 0)
        return -EINVAL;
    if ((mode & ~known) != 0 || mode == FALLOC_FL_PUNCH_HOLE)
        return -EOPNOTSUPP;
    if ((mode & FALLOC_FL_PUNCH_HOLE) != 0 && (mode & FALLOC_FL_ZERO_RANGE) != 0)
        return -EOPNOTSUPP;
    if (!writes(fd))
        return -EBADF;
    if (off > SIM_MAX_SIZE || len > SIM_MAX_SIZE - off)
        return -EFBIG;
    if (disk->read_only)
        return -EROFS;
    return (disk->lacks & SIM_LACKS_SPACE) != 0 ? -EOPNOTSUPP : 0;
}

int simcall_allocate(struct sim_disk *disk, int number, int mode, uint64_t off, uint64_t len)
{
    struct sim_change *change;
    struct sim_fd *fd;
    int r = usable(disk, number, &fd);

    if (r == 0)
        r = check_allocate(disk, fd, mode, off, len);
    if (r < 0)
        return r;
    if ((mode & FALLOC_FL_PUNCH_HOLE) == 0 &&
        simimage_missing(inode_of(disk, fd->ino), off, off + len) > disk->capacity / SIM_PAGE)
        return -ENOSPC;
    if ((mode & FALLOC_FL_PUNCH_HOLE) == 0 &&
        !has_room(disk, simimage_missing(inode_of(disk, fd->ino), off, off + len) * SIM_PAGE))
        return -ENOSPC;
    change = change_new(disk, SIM_CHANGE_SPACE, fd->ino);
    change->mode = mode;
    change->off = off;
    change->len = len;
    simimage_add_edges(inode_of(disk, fd->ino), change);
    simcrash_change(disk, change);
    return 0;
}

static int64_t seek_data(const struct sim_inode *inode, uint64_t off)
{
    size_t at = simimage_slot(inode, off / SIM_PAGE);

    while (at < inode->n_slots && inode->slots[at].page == NULL)
        at++;
    if (at < inode->n_slots)
        off = MAX(off, inode->slots[at].index * SIM_PAGE);
    return at == inode->n_slots || off >= inode->size ? -ENXIO : (int64_t) off;
}

static int64_t seek_hole(const struct sim_inode *inode, uint64_t off)
{
    size_t at = simimage_slot(inode, off / SIM_PAGE);

    for (; at < inode->n_slots && inode->slots[at].page != NULL && inode->slots[at].index == off / SIM_PAGE; at++)
        off = (off / SIM_PAGE + 1) * SIM_PAGE;
    return (int64_t) MIN(off, inode->size);
}

static int64_t seek_to(const struct sim_inode *inode, uint64_t pos, uint64_t off, int whence)
{
    uint64_t most = S_ISDIR(inode->attr.mode) ? INT64_MAX : SIM_MAX_SIZE;
    uint64_t from = whence == SEEK_CUR ? pos : whence == SEEK_END ? inode->size : 0;

    switch (whence) {
    case SEEK_SET:
    case SEEK_CUR:
    case SEEK_END:
        return from + off > most ? -EINVAL : (int64_t) (from + off);
    case SEEK_DATA:
    case SEEK_HOLE:
        if (S_ISDIR(inode->attr.mode))
            return -EINVAL;
        if (off >= inode->size)
            return -ENXIO;
        return whence == SEEK_DATA ? seek_data(inode, off) : seek_hole(inode, off);
    default:
        return -EINVAL;
    }
}

int64_t simcall_seek(struct sim_disk *disk, int number, uint64_t off, int whence)
{
    struct sim_fd *fd;
    int64_t to = usable(disk, number, &fd);

    if (to < 0)
        return to;
    to = seek_to(inode_of(disk, fd->ino), fd->pos, off, whence);
    if (to >= 0)
        fd->pos = (uint64_t) to;
    return to;
}

int simcall_sync(struct sim_disk *disk, int number, enum disk_sync how)
{
    struct sim_fd *fd;
    int r = usable(disk, number, &fd);

    if (r == 0)
        simcrash_sync(disk, fd->ino, how);
    return r;
}

int simcall_sync_failed(struct sim_disk *disk, int number, enum disk_sync how, int error)
{
    struct sim_fd *fd;
    int r = usable(disk, number, &fd);

    if (r < 0)
        return r;
    if (how != SYNC_START)
        simcrash_sync_failed(disk, fd->ino, how);
    return -error;
}

/* -- names -- */

static struct timespec timespec_of(int64_t ns)
{
    return (struct timespec){ .tv_sec = ns / NS, .tv_nsec = ns % NS };
}

int simcall_stat(struct sim_disk *disk, int dir, const char *path, struct stat *ret_stat)
{
    const struct sim_inode *inode;
    uint32_t ino;
    int r = simpath_find(disk, dir, path, &ino);

    if (r < 0)
        return r;
    inode = inode_of(disk, ino);
    *ret_stat = (struct stat){
        .st_dev = makedev(DEV_MAJOR, disk->index),
        .st_ino = inode->number,
        .st_mode = inode->attr.mode,
        .st_nlink = inode->nlink,
        .st_uid = inode->attr.uid,
        .st_gid = inode->attr.gid,
        .st_rdev = inode->attr.rdev,
        .st_size = S_ISDIR(inode->attr.mode) ? SIM_PAGE : (off_t) inode->size,
        .st_blksize = SIM_PAGE,
        .st_blocks = (blkcnt_t) inode->n_slots * (SIM_PAGE / 512),
        .st_atim = timespec_of(inode->attr.atime),
        .st_mtim = timespec_of(inode->attr.mtime),
        .st_ctim = timespec_of(inode->attr.ctime),
    };
    return 0;
}

int simcall_statfs(struct sim_disk *disk, int number, struct statvfs *ret_statfs)
{
    uint64_t left = disk->capacity - MIN(disk->capacity, disk->now->used);

    if (simpath_fd(disk, number) == NULL)
        return -EBADF;
    *ret_statfs = (struct statvfs){
        .f_bsize = SIM_PAGE,
        .f_frsize = SIM_PAGE,
        .f_blocks = disk->capacity / SIM_PAGE,
        .f_bfree = left / SIM_PAGE,
        .f_bavail = left / SIM_PAGE,
        .f_files = disk->capacity / simimage_cost_of_inode(),
        .f_ffree = left / simimage_cost_of_inode(),
        .f_favail = left / simimage_cost_of_inode(),
        .f_fsid = disk->index + 1,
        .f_flag = disk->read_only ? ST_RDONLY : 0,
        .f_namemax = NAME_MAX,
    };
    return 0;
}

/* One entry more, where it fits. */
static bool put_entry(const struct sim_disk *disk, uint32_t ino, uint64_t cookie, const char *name, size_t len,
                      char *buf, size_t size, size_t *used)
{
    size_t need = (offsetof(struct dirent64, d_name) + len + 1 + 7) & ~(size_t) 7;
    const struct sim_inode *inode = inode_of(disk, ino);
    struct dirent64 head = { .d_off = (off64_t) cookie, .d_reclen = (unsigned short) need };

    if (need > size - *used)
        return false;
    head.d_ino = inode != NULL ? inode->number : 0; /* the parent of a directory that is gone may be gone too */
    head.d_type = inode != NULL ? (unsigned char) IFTODT(inode->attr.mode) : DT_DIR;
    memset(buf + *used, 0, need);
    memcpy(buf + *used, &head, offsetof(struct dirent64, d_name));
    memcpy(buf + *used + offsetof(struct dirent64, d_name), name, len);
    *used += need;
    return true;
}

ssize_t simcall_read_dir(struct sim_disk *disk, int number, void *buf, size_t size)
{
    const struct sim_inode *dir;
    struct sim_fd *fd;
    size_t used = 0;
    int r = usable(disk, number, &fd);

    if (r < 0)
        return r;
    dir = inode_of(disk, fd->ino);
    if (!S_ISDIR(dir->attr.mode))
        return -ENOTDIR;
    if (dir->nlink == 0)
        return -ENOENT;
    for (;;) {
        size_t at = simimage_entry_behind(dir, fd->pos);
        const struct sim_entry *entry = at < dir->n_entries ? &dir->entries[at] : NULL;
        uint64_t next = fd->pos < 2 ? fd->pos + 1 : entry != NULL ? entry->cookie : 0;

        if (next == 0)
            return (ssize_t) used;
        if (next <= 2 ? !put_entry(disk, next == 1 ? fd->ino : dir->parent, next, "..", (size_t) next, buf, size, &used)
                      : !put_entry(disk, entry->ino, next, entry->name->bytes, entry->name->len, buf, size, &used))
            return used > 0 ? (ssize_t) used : -EINVAL;
        fd->pos = next;
    }
}

ssize_t simcall_read_link(struct sim_disk *disk, int dir, const char *path, char *buf, size_t size)
{
    const struct sim_inode *inode;
    uint32_t ino;
    size_t n;
    int r;

    if (size == 0)
        return -EINVAL;
    r = simpath_find(disk, dir, path, &ino);
    if (r < 0)
        return r;
    inode = inode_of(disk, ino);
    if (!S_ISLNK(inode->attr.mode))
        return *path == 0 ? -ENOENT : -EINVAL;
    n = MIN(size, inode->target->len);
    memcpy(buf, inode->target->bytes, n);
    return (ssize_t) n;
}

int simcall_link(struct sim_disk *disk, int from_dir, const char *from, int to_dir, const char *to)
{
    const struct sim_inode *inode;
    struct sim_change *change;
    struct sim_place place;
    uint32_t ino;
    int r;

    if (simpath_elsewhere(disk, from_dir) || simpath_elsewhere(disk, to_dir))
        return -EXDEV;
    r = simpath_find(disk, from_dir, from, &ino);
    if (r == 0)
        r = vacant(disk, to_dir, to, &place);
    if (r < 0)
        return r;
    inode = inode_of(disk, ino);
    if (S_ISDIR(inode->attr.mode))
        return -EPERM;
    if (inode->nlink == 0 && !inode->linkable)
        return -ENOENT;
    if (inode->nlink >= MAX_LINKS)
        return -EMLINK;
    if (!has_room(disk, simimage_cost_of_name(place.len)))
        return -ENOSPC;
    change = change_new(disk, SIM_CHANGE_LINK, ino);
    change->dir = place.dir;
    change->name = sim_blob_new(place.name, place.len);
    simcrash_change(disk, change);
    return 0;
}

/* Whether ino is dir or a directory above it. */
static bool is_above(const struct sim_disk *disk, uint32_t ino, uint32_t dir)
{
    while (dir != ino && dir != SIM_ROOT_INO && inode_of(disk, dir) != NULL)
        dir = inode_of(disk, dir)->parent;
    return dir == ino;
}

static bool is_dir(const struct sim_disk *disk, uint32_t ino)
{
    return S_ISDIR(inode_of(disk, ino)->attr.mode);
}

static int check_rename(const struct sim_disk *disk, const struct sim_place *from, const struct sim_place *to,
                        unsigned flags)
{
    bool exchange = (flags & RENAME_EXCHANGE) != 0;

    if (from->last != SIM_LAST_NAME)
        return -EBUSY;
    if (to->last != SIM_LAST_NAME)
        return (flags & RENAME_NOREPLACE) != 0 ? -EEXIST : -EBUSY;
    if (from->ino == 0)
        return simpath_absent(disk, from);
    if (to->len > NAME_MAX)
        return simpath_absent(disk, to);
    if (to->ino != 0 && (flags & RENAME_NOREPLACE) != 0)
        return -EEXIST;
    if (to->ino == 0 && exchange)
        return -ENOENT;
    if (is_above(disk, from->ino, to->dir))
        return -EINVAL;
    if (to->ino != 0 && is_above(disk, to->ino, from->dir))
        return exchange ? -EINVAL : -ENOTEMPTY;
    if (inode_of(disk, to->dir)->nlink == 0)
        return -ENOENT;
    if (to->ino == 0 || to->ino == from->ino || exchange)
        return 0;
    if (is_dir(disk, from->ino) != is_dir(disk, to->ino))
        return is_dir(disk, from->ino) ? -ENOTDIR : -EISDIR;
    return inode_of(disk, to->ino)->n_entries > 0 ? -ENOTEMPTY : 0;
}

static int check_rename_flags(const struct sim_disk *disk, unsigned flags)
{
    if ((flags & ~(unsigned) (RENAME_NOREPLACE | RENAME_EXCHANGE)) != 0 ||
        flags == (RENAME_NOREPLACE | RENAME_EXCHANGE))
        return -EINVAL;
    return flags != 0 && (disk->lacks & SIM_LACKS_RENAME_FLAGS) != 0 ? -EINVAL : 0;
}

int simcall_rename(struct sim_disk *disk, int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    struct sim_place source, target;
    struct sim_change *change;
    int r = check_rename_flags(disk, flags);

    if (r == 0 && (simpath_elsewhere(disk, from_dir) || simpath_elsewhere(disk, to_dir)))
        r = -EXDEV;
    if (r == 0)
        r = simpath_place(disk, from_dir, from, &source);
    if (r == 0)
        r = simpath_place(disk, to_dir, to, &target);
    if (r == 0 && disk->read_only)
        r = -EROFS;
    if (r == 0)
        r = check_rename(disk, &source, &target, flags);
    if (r < 0 || source.ino == target.ino)
        return r;
    if (target.ino == 0 && target.len > source.len && !has_room(disk, target.len - source.len))
        return -ENOSPC;
    change = change_new(disk, (flags & RENAME_EXCHANGE) != 0 ? SIM_CHANGE_EXCHANGE : SIM_CHANGE_RENAME, source.ino);
    change->dir = source.dir;
    change->name = sim_blob_new(source.name, source.len);
    change->to_dir = target.dir;
    change->to_name = sim_blob_new(target.name, target.len);
    change->other = target.ino;
    simcrash_change(disk, change);
    if (target.ino != 0)
        free_if_unused(disk, target.ino);
    return 0;
}

static int check_unlink(const struct sim_disk *disk, const struct sim_place *place, bool directory)
{
    if (place->last != SIM_LAST_NAME)
        return !directory ? -EISDIR : place->last == SIM_LAST_DOT ? -EINVAL : -ENOTEMPTY;
    if (disk->read_only)
        return -EROFS;
    if (place->ino == 0)
        return simpath_absent(disk, place);
    if (is_dir(disk, place->ino) != directory)
        return directory ? -ENOTDIR : -EISDIR;
    return inode_of(disk, place->ino)->n_entries > 0 ? -ENOTEMPTY : 0;
}

int simcall_unlink(struct sim_disk *disk, int dir, const char *path, int flags)
{
    struct sim_change *change;
    struct sim_place place;
    int r = (flags & ~AT_REMOVEDIR) != 0 ? -EINVAL : simpath_place_beneath(disk, dir, path, &place);

    if (r == 0)
        r = check_unlink(disk, &place, flags != 0);
    if (r < 0)
        return r;
    change = change_new(disk, SIM_CHANGE_UNLINK, place.ino);
    change->dir = place.dir;
    change->name = sim_blob_new(place.name, place.len);
    simcrash_change(disk, change);
    free_if_unused(disk, place.ino);
    return 0;
}

int simcall_mkdir(struct sim_disk *disk, int dir, const char *path, mode_t mode)
{
    struct sim_place place;
    int r = vacant(disk, dir, path, &place);

    mode &= (S_IRWXU | S_IRWXG | S_IRWXO | S_ISVTX) & ~identity.umask;
    return r < 0 ? r : make(disk, place.dir, &place, S_IFDIR | mode, 0, NULL, false);
}

int simcall_symlink(struct sim_disk *disk, const char *target, int dir, const char *path)
{
    struct sim_place place;
    int r = *target == 0 ? -ENOENT : strlen(target) >= PATH_MAX ? -ENAMETOOLONG : vacant(disk, dir, path, &place);

    return r < 0 ? r : make(disk, place.dir, &place, S_IFLNK | 0777, 0, target, false);
}

static int check_mknod(mode_t mode)
{
    switch (mode & S_IFMT) {
    case 0:
    case S_IFREG:
    case S_IFIFO:
    case S_IFSOCK:
    case S_IFCHR:
    case S_IFBLK:
        return 0;
    case S_IFDIR:
        return -EPERM;
    default:
        return -EINVAL;
    }
}

int simcall_mknod(struct sim_disk *disk, int dir, const char *path, mode_t mode, dev_t dev)
{
    mode_t type = (mode & S_IFMT) == 0 ? S_IFREG : mode & S_IFMT;
    struct sim_place place;
    int r = check_mknod(mode);

    if (r == 0)
        r = vacant(disk, dir, path, &place);
    if (r < 0)
        return r;
    if (type != S_IFCHR && type != S_IFBLK)
        dev = 0;
    return make(disk, place.dir, &place, type | (mode & 07777 & ~identity.umask), dev, NULL, false);
}

/* -- attributes -- */

/* The inode behind a path, about to be changed: what its attributes will be starts as what they are. */
static int change_attr(struct sim_disk *disk, int dir, const char *path, struct sim_change **ret_change)
{
    uint32_t ino;
    int r = simpath_find(disk, dir, path, &ino);

    if (r == 0 && disk->read_only)
        r = -EROFS;
    if (r < 0)
        return r;
    *ret_change = change_new(disk, SIM_CHANGE_ATTR, ino);
    (*ret_change)->attr = inode_of(disk, ino)->attr;
    (*ret_change)->attr.ctime = (*ret_change)->stamp;
    return 0;
}

int simcall_chmod(struct sim_disk *disk, int dir, const char *path, mode_t mode)
{
    struct sim_change *change;
    int r = change_attr(disk, dir, path, &change);

    if (r < 0)
        return r;
    if (S_ISLNK(change->attr.mode)) {
        sim_change_put(change);
        return -EOPNOTSUPP;
    }
    change->attr.mode = (change->attr.mode & S_IFMT) | (mode & 07777);
    simcrash_change(disk, change);
    return 0;
}

int simcall_chown(struct sim_disk *disk, int dir, const char *path, uid_t uid, gid_t gid)
{
    struct sim_change *change;
    mode_t mode;
    int r = change_attr(disk, dir, path, &change);

    if (r < 0)
        return r;
    mode = change->attr.mode;
    if (uid != (uid_t) -1)
        change->attr.uid = uid;
    if (gid != (gid_t) -1)
        change->attr.gid = gid;
    if (!S_ISDIR(mode))
        mode &= ~(mode_t) (S_ISUID | ((mode & S_IXGRP) != 0 ? S_ISGID : 0));
    change->attr.mode = mode;
    simcrash_change(disk, change);
    return 0;
}

static int check_time(const struct timespec *time)
{
    bool special = time->tv_nsec == UTIME_NOW || time->tv_nsec == UTIME_OMIT;

    return special || (time->tv_nsec >= 0 && time->tv_nsec < NS) ? 0 : -EINVAL;
}

static void set_time(int64_t *time, const struct timespec *to, int64_t now)
{
    if (to == NULL || to->tv_nsec == UTIME_NOW)
        *time = now;
    else if (to->tv_nsec != UTIME_OMIT)
        *time = to->tv_sec * NS + to->tv_nsec;
}

int simcall_set_times(struct sim_disk *disk, int dir, const char *path, const struct timespec times[2])
{
    struct sim_change *change;
    int r;

    if (times != NULL && times[0].tv_nsec == UTIME_OMIT && times[1].tv_nsec == UTIME_OMIT)
        return 0;
    r = change_attr(disk, dir, path, &change);
    if (r < 0)
        return r;
    if (times != NULL && (check_time(&times[0]) < 0 || check_time(&times[1]) < 0)) {
        sim_change_put(change);
        return -EINVAL;
    }
    set_time(&change->attr.atime, times, change->stamp);
    set_time(&change->attr.mtime, times != NULL ? &times[1] : NULL, change->stamp);
    simcrash_change(disk, change);
    return 0;
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* The inode whose attribute is meant. */
static int find_xattr(struct sim_disk *disk, int dir, const char *path, const char *name, bool change,
                      uint32_t *ret_ino)
{
    bool user = starts_with(name, XATTR_USER_PREFIX);
    const char *rest = strchr(name, '.');
    mode_t mode;
    int r;

    if (*name == 0 || strlen(name) > XATTR_NAME_MAX)
        return -ERANGE;
    r = simpath_find(disk, dir, path, ret_ino);
    if (r < 0)
        return r;
    if (change && disk->read_only)
        return -EROFS;
    mode = inode_of(disk, *ret_ino)->attr.mode;
    if (user && !S_ISREG(mode) && !S_ISDIR(mode))
        return change ? -EPERM : -ENODATA;
    if (!user && !starts_with(name, XATTR_TRUSTED_PREFIX) && !starts_with(name, XATTR_SECURITY_PREFIX))
        return -EOPNOTSUPP;
    if ((disk->lacks & SIM_LACKS_XATTR) != 0)
        return -EOPNOTSUPP;
    return rest[1] == 0 ? -EINVAL : 0;
}

ssize_t simcall_get_xattr(struct sim_disk *disk, int dir, const char *path, const char *name, void *value, size_t size)
{
    const struct sim_xattr *xattr;
    uint32_t ino;
    int r = find_xattr(disk, dir, path, name, false, &ino);

    if (r < 0)
        return r;
    xattr = simimage_xattr(inode_of(disk, ino), name);
    if (xattr == NULL)
        return -ENODATA;
    if (size > 0 && size < xattr->value->len)
        return -ERANGE;
    if (size > 0)
        memcpy(value, xattr->value->bytes, xattr->value->len);
    return (ssize_t) xattr->value->len;
}

static uint64_t xattrs_cost(const struct sim_inode *inode)
{
    uint64_t cost = 0;

    for (size_t i = 0; i < inode->n_xattrs; i++)
        cost += simimage_cost_of_xattr(inode->xattrs[i].name->len, inode->xattrs[i].value->len);
    return cost;
}

/* An attribute in another one's place needs room only for what it is longer. */
static int check_xattr_room(const struct sim_disk *disk, const struct sim_inode *inode, const struct sim_xattr *old,
                            const char *name, size_t size)
{
    uint64_t need = simimage_cost_of_xattr(strlen(name), size);
    uint64_t had = old != NULL ? simimage_cost_of_xattr(old->name->len, old->value->len) : 0;

    if (need <= had)
        return 0;
    if (xattrs_cost(inode) - had + need > disk->xattr_room || !has_room(disk, need - had))
        return -ENOSPC;
    return 0;
}

static void change_xattr(struct sim_disk *disk, uint32_t ino, const char *name, struct sim_blob *value)
{
    struct sim_change *change = change_new(disk, SIM_CHANGE_XATTR, ino);

    change->name = sim_blob_new(name, strlen(name));
    change->data = value;
    simcrash_change(disk, change);
}

int simcall_set_xattr(struct sim_disk *disk, int dir, const char *path, const char *name, const void *value,
                      size_t size, int flags)
{
    const struct sim_xattr *old;
    uint32_t ino;
    int r;

    if ((flags & ~(XATTR_CREATE | XATTR_REPLACE)) != 0)
        return -EINVAL;
    if (*name == 0 || strlen(name) > XATTR_NAME_MAX)
        return -ERANGE;
    if (size > XATTR_SIZE_MAX)
        return -E2BIG;
    r = find_xattr(disk, dir, path, name, true, &ino);
    if (r < 0)
        return r;
    old = simimage_xattr(inode_of(disk, ino), name);
    if (old != NULL && (flags & XATTR_CREATE) != 0)
        return -EEXIST;
    if (old == NULL && (flags & XATTR_REPLACE) != 0)
        return -ENODATA;
    r = check_xattr_room(disk, inode_of(disk, ino), old, name, size);
    if (r == 0)
        change_xattr(disk, ino, name, sim_blob_new(value, size));
    return r;
}

ssize_t simcall_list_xattr(struct sim_disk *disk, int dir, const char *path, char *list, size_t size)
{
    const struct sim_inode *inode;
    size_t len = 0;
    uint32_t ino;
    int r = simpath_find(disk, dir, path, &ino);

    if (r < 0)
        return r;
    inode = inode_of(disk, ino);
    for (size_t i = 0; i < inode->n_xattrs; i++)
        len += inode->xattrs[i].name->len + 1;
    if (size > 0 && len > size)
        return -ERANGE;
    for (size_t i = 0; size > 0 && i < inode->n_xattrs; i++) {
        memcpy(list, inode->xattrs[i].name->bytes, inode->xattrs[i].name->len + 1);
        list += inode->xattrs[i].name->len + 1;
    }
    return (ssize_t) len;
}

int simcall_remove_xattr(struct sim_disk *disk, int dir, const char *path, const char *name)
{
    uint32_t ino;
    int r = find_xattr(disk, dir, path, name, true, &ino);

    if (r < 0)
        return r;
    if (simimage_xattr(inode_of(disk, ino), name) == NULL)
        return -ENODATA;
    change_xattr(disk, ino, name, NULL);
    return 0;
}
