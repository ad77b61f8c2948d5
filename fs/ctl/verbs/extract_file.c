/* SPDX-License-Identifier: MIT */
#include "fs/core/file/salvage.h"
#include "fs/core/tree/tree.h"
#include "fs/ctl/verbs/dress.h"
#include "fs/ctl/verbs/extract.h"
#include "fs/json/utf8.h"
#include "layout/map.h"

#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#define MAX_TOLD 16 /* lost ranges of a file that are told one by one */

/* A file that is being copied out. */
struct copy {
    struct extract *extract;
    const char *path;
    struct file *file;
    uint64_t n_lost, lost_bytes;
    uint64_t first_off, first_len; /* of the lost ranges */
};

int extract_fail(struct extract *extract, int r, const char *fmt, ...)
{
    char why[PATH_MAX + 512];
    va_list list;

    va_start(list, fmt);
    vsnprintf(why, sizeof why, fmt, list);
    va_end(list);
    utf8_complain("%s", why);
    if (extract->as_json)
        json_string(&extract->json, NULL, why);
    extract->failed++;
    return r;
}

/* -- bytes -- */

static void note_lost(void *arg, uint64_t off, uint64_t len, int error)
{
    struct copy *copy = arg;

    if (copy->n_lost == 0) {
        copy->first_off = off;
        copy->first_len = len;
    }
    copy->n_lost++;
    copy->lost_bytes += len;
    if (copy->extract->partial && copy->n_lost <= MAX_TOLD)
        utf8_complain("%s: bytes %" PRIu64 " to %" PRIu64 " are lost (%s): zeros in their place", copy->path, off,
                      off + len - 1, error == -EIO ? "missing, or on a missing disk" : strerror(-error));
}

static bool is_zero(const uint8_t *bytes, size_t len)
{
    return len == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, len - 1) == 0);
}

/* Writes bytes of the copy. Where it is seekable, zeros are left out and become a hole. */
static int put(int fd, const uint8_t *bytes, size_t len, uint64_t off, bool seekable)
{
    if (seekable && is_zero(bytes, len))
        return 0;
    while (len > 0) {
        ssize_t n = seekable ? pwrite(fd, bytes, len, (off_t) off) : write(fd, bytes, len);

        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0) {
            bytes += n;
            off += (uint64_t) n;
            len -= (size_t) n;
        }
    }
    return 0;
}

/* Says which bytes are lost, and in which subfile on which disk the first of them lay. */
static int fail_lost(const struct copy *copy)
{
    const struct file *file = copy->file;
    const struct volume *volume = copy->extract->fs->volume;
    const struct disk *disk;
    char object[OBJECT_PATH];
    struct place place;
    uint32_t slot;

    (void) pattern_map(file->now->layout->pattern, copy->first_off, &place);
    slot = file_layout_slot(file->now->layout, place.element);
    disk = file_layout_on(file->now->layout, volume, file->now->rotate, slot);
    object_path(volume, file->now->id, file->now->number, slot, file->now->layout, object);
    return extract_fail(
        copy->extract, -EIO,
        "%s: bytes %" PRIu64 " to %" PRIu64 " are lost: %s on d%" PRIu32 ", %s/" STAMP_DIR "/%s; --partial puts "
        "zeros in their place",
        copy->path, copy->first_off, copy->first_off + copy->first_len - 1,
        disk_is_present(disk) ? "their subfile is missing, or too short," : "the disk is missing:", disk->index,
        disk->path, object);
}

static int copy_bytes(struct copy *copy, int fd, bool seekable)
{
    const struct salvage salvage = { note_lost, copy };
    struct extract *extract = copy->extract;
    uint64_t off = 0;
    ssize_t n;

    while ((n = salvage_read(extract->fs, copy->file, extract->buf, EXTRACT_CHUNK, off, &salvage)) > 0) {
        int r;

        if (copy->n_lost > 0 && !extract->partial)
            return fail_lost(copy);
        r = put(fd, extract->buf, (size_t) n, off, seekable);
        if (r < 0)
            return extract_fail(extract, r, "cannot write what %s has: %s", copy->path, strerror(-r));
        off += (uint64_t) n;
    }
    if (n < 0)
        return extract_fail(extract, (int) n, "cannot read %s: %s", copy->path, strerror((int) -n));
    if (seekable && ftruncate(fd, (off_t) off) < 0)
        return extract_fail(extract, -errno, "cannot write what %s has: %s", copy->path, strerror(errno));
    return 0;
}

static int copy_inode(struct extract *extract, struct inode *inode, const char *path, int fd, bool seekable)
{
    struct copy copy = { .extract = extract, .path = path };
    int r = file_get(extract->fs, inode, &copy.file);

    if (r < 0)
        return extract_fail(extract, r, "cannot read %s: %s", path,
                            r == -EUCLEAN ? "its record or layout is damaged; fsck.fallsfs may have a copy"
                                          : volume_strerror(-r));
    r = copy_bytes(&copy, fd, seekable);
    file_put(extract->fs, copy.file);
    if (r == 0 && copy.n_lost > 0) {
        extract_fail(extract, 0, "%s: %" PRIu64 " bytes in %" PRIu64 " pieces are lost", path, copy.lost_bytes,
                     copy.n_lost);
        extract->lost_bytes += copy.lost_bytes;
    }
    extract->files += r == 0;
    return r;
}

/* -- names -- */

int extract_look_up(struct fs *fs, const char *path, struct inode **ret_inode, struct stat *ret_stat)
{
    struct inode *inode = inodes_root(fs->inodes);
    int r;

    inode_ref(fs->inodes, inode);
    r = tree_stat(fs, inode, ret_stat);
    while (r == 0 && *path != 0) {
        size_t len = strcspn(path, "/");
        struct inode *child;
        char name[NAME_MAX + 1];

        snprintf(name, sizeof name, "%.*s", (int) MIN(len, NAME_MAX), path);
        path += len + (path[len] == '/');
        if (len == 0 || strcmp(name, ".") == 0)
            continue;
        r = len > NAME_MAX ? -ENAMETOOLONG : strcmp(name, "..") == 0 ? -EINVAL : 0;
        if (r == 0)
            r = S_ISDIR(ret_stat->st_mode) ? tree_lookup(fs, inode, name, &child, ret_stat) : -ENOTDIR;
        if (r == 0) {
            inode_unref(fs->inodes, inode);
            inode = child;
        }
    }
    if (r < 0)
        inode_unref(fs->inodes, inode);
    else
        *ret_inode = inode;
    return r;
}

void extract_dress(struct extract *extract, const char *path, struct inode *inode, const struct stat *st, int dir,
                   const char *name)
{
    char why[DRESS_WHY];

    if (dress(extract->fs, inode, st, dir, name, why) < 0)
        extract_fail(extract, 0, "%s: its copy is without %s", *path != 0 ? path : "/", why);
}

/* Opens a new file for a copy. A file that is there already is an error; a device or a pipe may be there, and is
 * written to. */
static int open_out(int dir, const char *name, bool *ret_made)
{
    struct stat st;
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

    *ret_made = fd >= 0;
    if (fd < 0 && errno == EEXIST && fstatat(dir, name, &st, 0) == 0 && !S_ISREG(st.st_mode))
        fd = openat(dir, name, O_WRONLY | O_CLOEXEC);
    else if (fd < 0 && errno == EEXIST)
        return -EEXIST;
    return fd < 0 ? -errno : fd;
}

int extract_file(struct extract *extract, const char *path, int dir, const char *name)
{
    struct inode *inode;
    struct stat st;
    bool made;
    int fd, r = extract_look_up(extract->fs, path, &inode, &st);

    if (r < 0)
        return extract_fail(extract, r, "%s: %s", path, volume_strerror(-r));
    fd = S_ISREG(st.st_mode) ? open_out(dir, name, &made) : -EISDIR;
    if (fd < 0) {
        inode_unref(extract->fs->inodes, inode);
        return extract_fail(extract, fd,
                            fd == -EISDIR ? "%s is no file: -r and -o take a directory with what is in it"
                                          : "%s: cannot make the file to copy it to: %s",
                            path, strerror(-fd));
    }
    r = copy_inode(extract, inode, path, fd, made);
    if (close(fd) < 0 && r == 0)
        r = extract_fail(extract, -errno, "cannot write what %s has: %s", path, strerror(errno));
    if (made && r < 0)
        (void) unlinkat(dir, name, 0);
    else if (made)
        extract_dress(extract, path, inode, &st, dir, name);
    inode_unref(extract->fs->inodes, inode);
    return r;
}

int extract_to_stdout(struct extract *extract, const char *path)
{
    struct inode *inode;
    struct stat st;
    int r = extract_look_up(extract->fs, path, &inode, &st);

    if (r < 0)
        return extract_fail(extract, r, "%s: %s", path, volume_strerror(-r));
    if (S_ISREG(st.st_mode))
        r = copy_inode(extract, inode, path, STDOUT_FILENO, false);
    else
        r = extract_fail(extract, -EISDIR, "%s is no file: -r and -o take a directory with what is in it", path);
    inode_unref(extract->fs->inodes, inode);
    return r;
}
