/* SPDX-License-Identifier: MIT */
#include "test/support/simcall.h"

#include <limits.h>
#include <string.h>

static _Thread_local struct cred identity;

void simcall_assume(const struct cred *cred)
{
    identity = *cred;
}

void simcall_resume(void)
{
    identity = (struct cred){ 0 };
}

const struct cred *simcall_identity(void)
{
    return &identity;
}

/* -- what all calls need -- */

int simcall_usable(struct sim_disk *disk, int number, struct sim_fd **ret_fd)
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

void simcall_free_if_unused(struct sim_disk *disk, uint32_t ino)
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
        simcall_free_if_unused(disk, ino);
}

int simcall_vacant(struct sim_disk *disk, int dir, const char *path, struct sim_place *ret_place)
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

int simcall_make(struct sim_disk *disk, uint32_t dir_ino, const struct sim_place *place, mode_t mode, dev_t rdev,
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

void simcall_set_size(struct sim_disk *disk, uint32_t ino, uint64_t size)
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
    r = simcall_make(disk, dir, NULL, S_IFREG | mode, 0, NULL, (flags & O_EXCL) == 0);
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
        simcall_set_size(disk, ino, 0);
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
    r = (flags & O_CREAT) == 0 ? simpath_absent(disk, &place) : simcall_vacant(disk, dir, path, &place);
    if (r < 0)
        return r;
    ino = disk->next_ino;
    r = simcall_make(disk, place.dir, &place, S_IFREG | mode, 0, NULL, false);
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
    if (!disk->sim->down) /* a machine that is down frees it when it restarts */
        simcall_free_if_unused(disk, fd->ino);
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
