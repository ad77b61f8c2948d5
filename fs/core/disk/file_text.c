/* SPDX-License-Identifier: MIT */
#include "fs/core/disk/file_text.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static int read_all(const struct disk *disk, int fd, size_t max, char **ret_text, size_t *ret_len)
{
    cleanup(freep) char *text = NULL;
    struct stat st;
    size_t len = 0;
    int r = disk_call(disk, stat, fd, "", &st);

    if (r < 0)
        return r;
    if (!S_ISREG(st.st_mode) || (uint64_t) st.st_size > max)
        return -EUCLEAN;
    text = malloc((size_t) st.st_size + 1);
    if (text == NULL)
        return -ENOMEM;
    while (len < (size_t) st.st_size) {
        struct iovec iov = { text + len, (size_t) st.st_size - len };
        ssize_t n = disk_call(disk, preadv, fd, &iov, 1, len, false);

        if (n < 0)
            return (int) n;
        if (n == 0)
            break;
        len += (size_t) n;
    }
    text[len] = 0;
    *ret_text = steal(text);
    *ret_len = len;
    return 0;
}

int file_text_read(const struct disk *disk, const char *path, size_t max, char **ret_text, size_t *ret_len)
{
    int fd = disk_call(disk, open, disk->root, path, O_RDONLY | O_NONBLOCK, 0);
    int r = fd < 0 ? (fd == -ELOOP ? -EUCLEAN : fd) : read_all(disk, fd, max, ret_text, ret_len);

    disk_close(disk, &fd);
    return r;
}

static int write_all(const struct disk *disk, int fd, const char *text, size_t len)
{
    uint64_t off = 0;

    while (off < len) {
        struct iovec iov = { (char *) drop_const(text) + off, len - off };
        ssize_t n = disk_call(disk, pwritev, fd, &iov, 1, off);

        if (n <= 0)
            return n < 0 ? (int) n : -EIO;
        off += (uint64_t) n;
    }
    return disk_call(disk, sync, fd, SYNC_ALL);
}

int file_text_sync_dir(const struct disk *disk, const char *path)
{
    int fd = disk_call(disk, open, disk->root, path, O_RDONLY | O_DIRECTORY, 0);
    int r = fd < 0 ? fd : disk_call(disk, sync, fd, SYNC_ALL);

    disk_close(disk, &fd);
    return r;
}

int file_text_replace(const struct disk *disk, const char *path, const char *text, size_t len)
{
    char fresh[128], dir[128];
    const char *slash = strrchr(path, '/');
    int fd, r;

    snprintf(fresh, sizeof fresh, "%s.new", path);
    snprintf(dir, sizeof dir, "%.*s", slash != NULL ? (int) (slash - path) : 1, slash != NULL ? path : ".");
    r = disk_call(disk, unlink, disk->root, fresh, 0);
    if (r < 0 && r != -ENOENT)
        return r;
    fd = disk_call(disk, open, disk->root, fresh, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd < 0)
        return fd;
    r = write_all(disk, fd, text, len);
    disk_close(disk, &fd);
    if (r == 0)
        r = disk_call(disk, rename, disk->root, fresh, disk->root, path, 0);
    if (r < 0)
        (void) disk_call(disk, unlink, disk->root, fresh, 0); /* a full disk has no room for half a text */
    return r < 0 ? r : file_text_sync_dir(disk, dir);
}
