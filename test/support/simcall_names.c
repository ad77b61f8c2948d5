/* SPDX-License-Identifier: MIT */
#include "test/support/simcall.h"

#include <dirent.h>
#include <limits.h>
#include <linux/fs.h>
#include <string.h>

#define MAX_LINKS 65000

/* Adds an entry to what is read of a directory; false: it does not fit any more. */
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
    int r = simcall_usable(disk, number, &fd);

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
        r = simcall_vacant(disk, to_dir, to, &place);
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

static bool is_below_ns(const struct sim_disk *disk, uint32_t dir)
{
    uint32_t fallsfs = simimage_lookup(disk->now, SIM_ROOT_INO, ".fallsfs", 8);
    uint32_t ns = fallsfs != 0 ? simimage_lookup(disk->now, fallsfs, "ns", 2) : 0;

    while (dir != ns && dir != SIM_ROOT_INO && dir != 0)
        dir = inode_of(disk, dir)->parent;
    return ns != 0 && dir == ns;
}

/* Counts a file that is about to lose its name in this directory while it is open, where NFS would have kept another
 * one. */
static void note_silly(struct sim_disk *disk, uint32_t dir, uint32_t ino)
{
    if ((disk->lacks & SIM_LACKS_TMPFILE) != 0 && ino != 0 && !is_dir(disk, ino) && simpath_in_use(disk, ino) &&
        is_below_ns(disk, dir))
        disk->sim->n_silly++;
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
    if ((flags & RENAME_EXCHANGE) == 0)
        note_silly(disk, target.dir, target.ino);
    simcrash_change(disk, change);
    if (target.ino != 0)
        simcall_free_if_unused(disk, target.ino);
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
    note_silly(disk, place.dir, place.ino);
    change = change_new(disk, SIM_CHANGE_UNLINK, place.ino);
    change->dir = place.dir;
    change->name = sim_blob_new(place.name, place.len);
    simcrash_change(disk, change);
    simcall_free_if_unused(disk, place.ino);
    return 0;
}

int simcall_mkdir(struct sim_disk *disk, int dir, const char *path, mode_t mode)
{
    struct sim_place place;
    int r = simcall_vacant(disk, dir, path, &place);

    mode &= (S_IRWXU | S_IRWXG | S_IRWXO | S_ISVTX) & ~simcall_identity()->umask;
    return r < 0 ? r : simcall_make(disk, place.dir, &place, S_IFDIR | mode, 0, NULL, false);
}

int simcall_symlink(struct sim_disk *disk, const char *target, int dir, const char *path)
{
    struct sim_place place;
    int r = *target == 0                 ? -ENOENT
            : strlen(target) >= PATH_MAX ? -ENAMETOOLONG
                                         : simcall_vacant(disk, dir, path, &place);

    return r < 0 ? r : simcall_make(disk, place.dir, &place, S_IFLNK | 0777, 0, target, false);
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
        r = simcall_vacant(disk, dir, path, &place);
    if (r < 0)
        return r;
    if (type != S_IFCHR && type != S_IFBLK)
        dev = 0;
    return simcall_make(disk, place.dir, &place, type | (mode & 07777 & ~simcall_identity()->umask), dev, NULL, false);
}
