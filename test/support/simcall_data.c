/* SPDX-License-Identifier: MIT */
#include "test/support/simcall.h"

#include <limits.h>
#include <linux/falloc.h>
#include <string.h>
#include <unistd.h>

#define MAX_RW_BYTES ((size_t) 0x7ffff000)

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

/* How many bytes of a write find room. */
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

/* Records a write as the sectors that it touches, whole, as they are after it. */
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
    int r = simcall_usable(disk, number, &fd);

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
    simcall_set_size(disk, fd->ino, size);
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
    int r = simcall_usable(disk, number, &fd);

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
    int64_t to = simcall_usable(disk, number, &fd);

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
    int r = simcall_usable(disk, number, &fd);

    if (r == 0)
        simcrash_sync(disk, fd->ino, how);
    return r;
}

int simcall_sync_failed(struct sim_disk *disk, int number, enum disk_sync how, int error)
{
    struct sim_fd *fd;
    int r = simcall_usable(disk, number, &fd);

    if (r < 0)
        return r;
    if (how != SYNC_START && how != SYNC_WAIT)
        simcrash_sync_failed(disk, fd->ino, how);
    return -error;
}
