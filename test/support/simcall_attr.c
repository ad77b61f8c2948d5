/* SPDX-License-Identifier: MIT */
#include "test/support/simcall.h"

#include <limits.h>
#include <linux/xattr.h>
#include <string.h>
#include <sys/sysmacros.h>

#define NS        INT64_C(1000000000)
#define DEV_MAJOR 250

/* -- looking -- */

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
        .f_blocks = (disk->capacity + disk->taken) / SIM_PAGE,
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

/* -- changing -- */

/* Begins a change of the attributes of the inode behind a path: they start as what they are now. */
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

/* Finds the inode whose attribute is meant; an error where it cannot have one of that name. */
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
