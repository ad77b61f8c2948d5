/* SPDX-License-Identifier: MIT */
/* One directory that may be a disk: its .fallsfs, the lock, the stamp. */
#include "fs/core/volume/volume_parts.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int member_open(const char *path, struct member *ret_member)
{
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (dir < 0)
        return -errno;
    *ret_member = (struct member){ .ops = &disk_local_ops, .dir = dir, .path = path };
    return 0;
}

void member_close(struct member *member)
{
    if (member->ops == &disk_local_ops && member->dir >= 0)
        close(member->dir);
    member->dir = -1;
}

int member_open_root(const struct member *member, enum volume_flags flags, struct disk *disk,
                     struct volume_error *error)
{
    struct stat st;
    int r;

    *disk = (struct disk){ .ops = member->ops, .ctx = member->ctx, .root = -1, .lock = -1 };
    disk->root = disk_call(disk, open, member->dir, STAMP_DIR, O_RDONLY | O_DIRECTORY, 0);
    if (disk->root == -ENOENT)
        return volume_fail(error, -ENODEV,
                           "%s is not a disk of a fallsfs volume: it has no .fallsfs. Is something not mounted there? "
                           "'fallsctl format' makes a new volume of empty directories",
                           member->path);
    if (disk->root == -EACCES)
        return volume_fail(error, -EACCES,
                           "%s/.fallsfs may not be opened: a volume is mounted by the user who formatted it",
                           member->path);
    if (disk->root < 0)
        return volume_fail(error, disk->root, "cannot open %s/.fallsfs: %s", member->path, strerror(-disk->root));
    r = disk_call(disk, stat, disk->root, "", &st);
    if (r < 0)
        return volume_fail(error, r, "cannot look at %s/.fallsfs: %s", member->path, strerror(-r));
    if ((st.st_mode & 077) != 0)
        return volume_fail(
            error, -EPERM,
            "%s/.fallsfs is open to other users (mode %03o), who could read all files: chmod 700 it, and check "
            "who had access",
            member->path, (unsigned) st.st_mode & 0777);
    /* Whoever only looks may do so on disks of another user: the system lets root alone come this far. */
    if (member->ops == &disk_local_ops && st.st_uid != geteuid() && (flags & VOLUME_PEEK) == 0)
        return volume_fail(
            error, -EPERM,
            "%s/.fallsfs belongs to user %u, who could read and change all files: mount as that user, or "
            "chown it after checking who had access",
            member->path, (unsigned) st.st_uid);
    disk->dev = st.st_dev;
    return 0;
}

int member_lock(const char *path, struct disk *disk, enum volume_flags flags, struct volume_error *error)
{
    struct stat st;
    int r;

    if ((flags & VOLUME_PEEK) != 0)
        return 0;
    disk->lock = disk_call(disk, open, disk->root, "lock", O_RDWR | O_NONBLOCK, 0);
    if (disk->lock == -EROFS && (flags & VOLUME_READ_ONLY) != 0)
        return 0; /* nobody can write to this disk, so it needs no lock */
    if (disk->lock < 0)
        return volume_fail(error, disk->lock, "cannot open %s/.fallsfs/lock: %s", path, strerror(-disk->lock));
    r = disk_call(disk, stat, disk->lock, "", &st);
    if (r == 0 && !S_ISREG(st.st_mode))
        return volume_fail(error, -EUCLEAN, "%s/.fallsfs/lock is no regular file: somebody put it there", path);
    if (r == 0)
        r = disk_call(disk, lock, disk->lock);
    if (r == -EAGAIN && st.st_size == LOCK_ENDING)
        return volume_fail(error, -EINPROGRESS,
                           "the fallsfs that was unmounted is still writing to %s: try again when it has ended", path);
    if (r == -EAGAIN)
        return volume_fail(
            error, -EBUSY,
            "%s is in use by another fallsfs or fsck.fallsfs, on this machine or another: unmount the volume "
            "there first",
            path);
    if (r < 0)
        return volume_fail(
            error, r,
            "cannot lock %s/.fallsfs/lock: %s. On NFS, mount without 'nolock' and 'local_lock', so that a "
            "second daemon can be kept away",
            path, strerror(-r));
    if (st.st_size != 0 && (flags & VOLUME_READ_ONLY) == 0)
        (void) disk_call(disk, truncate, disk->lock, 0);
    return 0;
}

bool member_is_locked(const struct disk *disk)
{
    int fd = disk->ops->is_locked != NULL ? disk_call(disk, open, disk->root, "lock", O_RDONLY | O_NONBLOCK, 0) : -1;
    bool locked = fd >= 0 && disk_call(disk, is_locked, fd) > 0;

    disk_close(disk, &fd);
    return locked;
}

int member_read_stamp(const struct member *member, const struct disk *disk, struct stamp *ret_stamp,
                      struct volume_error *error)
{
    int r = stamp_read(disk, ret_stamp);

    if (r == -ENOENT)
        return volume_fail(
            error, -ENODEV,
            "%s was never formatted to the end: it has .fallsfs but no stamp. If nothing there is needed, rm -r "
            "%s/.fallsfs and format again",
            member->path, member->path);
    if (r == -EUCLEAN)
        return volume_fail(error, r,
                           "the stamp %s/.fallsfs/volume is damaged: fsck.fallsfs can write it anew from the others",
                           member->path);
    if (r == -EPROTONOSUPPORT)
        return volume_fail(error, r,
                           "the stamp %s/.fallsfs/volume was made by a newer fallsfs, and means what this one cannot "
                           "know: use that version, or a later one",
                           member->path);
    return r < 0 ? volume_fail(error, r, "cannot read %s/.fallsfs/volume: %s", member->path, strerror(-r)) : 0;
}
