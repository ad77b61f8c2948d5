/* SPDX-License-Identifier: MIT */
#include "fs/fsck/bring_back.h"

#include "fs/core/disk/file_text.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define CHUNK (1U << 20)

static bool is_zero(const char *bytes, size_t len)
{
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, len - 1) == 0;
}

static int read_all(const struct disk *disk, int fd, char *bytes, size_t len, uint64_t off)
{
    while (len > 0) {
        struct iovec iov = { bytes, len };
        ssize_t n = disk_call(disk, preadv, fd, &iov, 1, off, false);

        if (n <= 0)
            return n < 0 ? (int) n : -EIO;
        bytes += n;
        len -= (size_t) n;
        off += (uint64_t) n;
    }
    return 0;
}

static int write_all(const struct disk *disk, int fd, char *bytes, size_t len, uint64_t off)
{
    while (len > 0) {
        struct iovec iov = { bytes, len };
        ssize_t n = disk_call(disk, pwritev, fd, &iov, 1, off);

        if (n <= 0)
            return n < 0 ? (int) n : -ENOSPC;
        bytes += n;
        len -= (size_t) n;
        off += (uint64_t) n;
    }
    return 0;
}

/* Copies bytes of an object from off on, as many as count; zeros are left out. */
static int copy_from(const struct bytes_of *from, uint64_t off, const struct disk *disk, int to)
{
    cleanup(freep) char *bytes = malloc(CHUNK);
    int fd = disk_call(from->disk, open, from->disk->root, from->object, O_RDONLY | O_NONBLOCK, 0);
    int r = fd < 0 ? fd : bytes == NULL ? -ENOMEM : 0;

    while (r == 0 && off < from->len) {
        size_t len = (size_t) MIN(CHUNK, from->len - off);

        r = read_all(from->disk, fd, bytes, len, off);
        if (r == 0 && !is_zero(bytes, len))
            r = write_all(disk, to, bytes, len, off);
        off += len;
    }
    disk_close(from->disk, &fd);
    return r;
}

static int make_anew(const struct bytes_of *own, const struct bytes_of *other, const char *fresh,
                     const struct object_stamp *stamp)
{
    const struct disk *disk = own->disk;
    int fd = disk_call(disk, open, disk->root, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NONBLOCK, 0600), r = MIN(fd, 0);

    if (r == 0 && own->len > 0)
        r = copy_from(own, 0, disk, fd);
    if (r == 0)
        r = copy_from(other, own->len, disk, fd);
    if (r == 0)
        r = disk_call(disk, truncate, fd, other->len);
    if (r == 0) {
        object_put_stamp(disk, disk->root, fresh, stamp);
        r = disk_call(disk, sync, fd, SYNC_ALL);
    }
    disk_close(disk, &fd);
    return r;
}

int bring_back(const struct volume *volume, const struct bytes_of *own, const struct bytes_of *other,
               const struct object_stamp *stamp)
{
    const struct disk *disk = own->disk;
    char fresh[OBJECT_PATH + 4], dir[OBJECT_PATH];
    int r;

    object_path(volume, stamp->id, 0, OBJECT_DIR, NULL, dir);
    snprintf(fresh, sizeof fresh, "%s.new", own->object);
    r = disk_call(disk, unlink, disk->root, fresh, 0);
    if (r == 0 || r == -ENOENT)
        r = make_anew(own, other, fresh, stamp);
    if (r == 0)
        r = disk_call(disk, rename, disk->root, fresh, disk->root, own->object, 0);
    if (r < 0)
        (void) disk_call(disk, unlink, disk->root, fresh, 0);
    return r < 0 ? r : file_text_sync_dir(disk, dir);
}
