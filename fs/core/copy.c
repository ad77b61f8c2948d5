/* SPDX-License-Identifier: MIT */
#include "fs/core/copy.h"

#include "fs/core/file_text.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#define SUM_LINE 18 /* newline, 16 digits, newline */
#define MAX_COPY (RECORD_SIZE + 256 + (1 << 20))

void copy_done(struct copy *copy)
{
    free(copy->path);
    copy->path = NULL;
}

/* -- bytes -- */

static void print_time(FILE *out, const struct timespec *time, char end)
{
    fprintf(out, "%" PRId64 ".%09" PRId64 "%c", (int64_t) time->tv_sec, (int64_t) time->tv_nsec, end);
}

int copy_encode(const struct record *record, const struct stat *st, const char *path, char **ret_bytes, size_t *ret_len)
{
    cleanup(freep) char *bytes = NULL;
    uint8_t encoded[RECORD_SIZE] = { 0 };
    size_t len = 0;
    FILE *out = open_memstream(&bytes, &len);
    bool failed;

    if (out == NULL)
        return -ENOMEM;
    record_encode(record, encoded);
    fwrite(encoded, 1, sizeof encoded, out);
    fprintf(out, "%o %" PRIu32 " %" PRIu32 " ", (unsigned) st->st_mode, st->st_uid, st->st_gid);
    print_time(out, &st->st_atim, ' ');
    print_time(out, &st->st_mtim, '\n');
    fputs(path, out);
    if (fflush(out) == 0)
        fprintf(out, "\n%016" PRIx64 "\n", (uint64_t) XXH3_64bits(bytes, len));
    failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed)
        return -ENOMEM;
    *ret_bytes = steal(bytes);
    *ret_len = len;
    return 0;
}

static bool is_whole(const char *bytes, size_t len)
{
    char want[SUM_LINE + 1];

    if (len <= RECORD_SIZE + SUM_LINE)
        return false;
    snprintf(want, sizeof want, "\n%016" PRIx64 "\n", (uint64_t) XXH3_64bits(bytes, len - SUM_LINE));
    return memcmp(bytes + len - SUM_LINE, want, SUM_LINE) == 0;
}

/* The line behind the record; its length with the newline, or 0. */
static size_t read_line(const char *line, size_t len, struct copy *copy)
{
    const char *end = memchr(line, '\n', len);
    unsigned mode, uid, gid, atime_ns, mtime_ns;
    int64_t atime, mtime;
    char text[128];
    int used = 0;

    if (end == NULL || (size_t) (end - line) >= sizeof text)
        return 0;
    memcpy(text, line, (size_t) (end - line));
    text[end - line] = 0;
    /* What is no number as copy_encode writes it is found out later. NOLINTNEXTLINE(cert-err34-c) */
    if (sscanf(text, "%o %u %u %" SCNd64 ".%u %" SCNd64 ".%u%n", &mode, &uid, &gid, &atime, &atime_ns, &mtime,
               &mtime_ns, &used) != 7 ||
        text[used] != 0 || atime_ns > 999999999 || mtime_ns > 999999999 || !S_ISREG(mode))
        return 0;
    copy->mode = mode & (S_IFMT | 07777);
    copy->uid = uid;
    copy->gid = gid;
    copy->atime = (struct timespec){ atime, atime_ns };
    copy->mtime = (struct timespec){ mtime, mtime_ns };
    return (size_t) (end - line) + 1;
}

/* A sum can be forged: what is believed is what copy_encode writes, to the last blank. */
static int check_canonical(const struct copy *copy, const char *bytes, size_t len)
{
    const struct stat st = {
        .st_mode = copy->mode, .st_uid = copy->uid, .st_gid = copy->gid, .st_atim = copy->atime, .st_mtim = copy->mtime
    };
    cleanup(freep) char *again = NULL;
    size_t again_len;
    int r = copy_encode(&copy->record, &st, copy->path, &again, &again_len);

    return r < 0 ? r : again_len == len && memcmp(again, bytes, len) == 0 ? 0 : -EUCLEAN;
}

int copy_decode(const char *bytes, size_t len, struct copy *ret_copy)
{
    cleanup(copy_done) struct copy copy = { 0 };
    const char *text;
    size_t line, rest;
    int r;

    if (!is_whole(bytes, len))
        return -EUCLEAN;
    r = record_decode((const uint8_t *) bytes, RECORD_SIZE, &copy.record);
    if (r < 0)
        return r;
    text = bytes + RECORD_SIZE;
    rest = len - RECORD_SIZE - SUM_LINE;
    line = read_line(text, rest, &copy);
    if (line == 0 || line == rest || memchr(text + line, 0, rest - line) != NULL)
        return -EUCLEAN;
    copy.path = strndup(text + line, rest - line);
    r = copy.path != NULL ? check_canonical(&copy, bytes, len) : -ENOMEM;
    if (r == 0) {
        *ret_copy = copy;
        copy.path = NULL;
    }
    return r;
}

/* -- on disk -- */

void copy_path(const struct volume *volume, const uint8_t id[ID_SIZE], char ret_path[static OBJECT_PATH])
{
    char hex[2 * ID_SIZE + 1];
    size_t len;

    object_path(volume, id, 0, OBJECT_DIR, NULL, ret_path);
    len = strlen(ret_path);
    hex_print(id, ID_SIZE, hex);
    snprintf(ret_path + len, OBJECT_PATH - len, "/%s.m", hex);
}

int copy_read(const struct disk *disk, const char *path, struct copy *ret_copy)
{
    cleanup(freep) char *bytes = NULL;
    size_t len;
    int r = file_text_read(disk, path, MAX_COPY, &bytes, &len);

    return r < 0 ? r : copy_decode(bytes, len, ret_copy);
}

/* The disk that the copy goes to; NULL when there is none to go to. */
static const struct disk *disk_for(const struct volume *volume, const struct record *record,
                                   const struct file_layout *layout)
{
    for (uint32_t slot = 0; slot < file_layout_slots(layout); slot++) {
        uint32_t index = file_layout_disk(layout, volume->home, record->rotate, slot);

        if (bits_has(&record->bits, slot) && index != volume->home)
            return disk_is_present(&volume->disk[index]) ? &volume->disk[index] : NULL;
    }
    return NULL;
}

static int write_new(const struct disk *disk, const char *path, int flags, char *bytes, size_t len)
{
    struct iovec iov = { bytes, len };
    int fd = disk_call(disk, open, disk->root, path, O_WRONLY | O_CREAT | O_NONBLOCK | flags, 0600);
    ssize_t n;

    if (fd < 0)
        return fd;
    n = disk_call(disk, pwritev, fd, &iov, 1, 0);
    disk_close(disk, &fd);
    if (n == (ssize_t) len)
        return 0;
    (void) disk_call(disk, unlink, disk->root, path, 0);
    return n < 0 ? (int) n : -ENOSPC;
}

/* The first copy is written in place: half of one is none, as before. */
static int replace(const struct disk *disk, const char *path, char *bytes, size_t len)
{
    char fresh[OBJECT_PATH + 4];
    int r = write_new(disk, path, O_EXCL, bytes, len);

    if (r != -EEXIST)
        return r;
    snprintf(fresh, sizeof fresh, "%s.new", path);
    r = write_new(disk, fresh, O_TRUNC, bytes, len);
    if (r == 0)
        r = disk_call(disk, rename, disk->root, fresh, disk->root, path, 0);
    if (r < 0)
        (void) disk_call(disk, unlink, disk->root, fresh, 0);
    return r;
}

static int stat_stub(struct fs *fs, struct file *file, struct stat *ret_stat)
{
    int fd, r = inode_open(fs->inodes, file->inode, &fd);

    if (r < 0)
        return r;
    r = disk_call(fs_home(fs), stat, fd, "", ret_stat);
    inode_close(fs->inodes, file->inode);
    return r;
}

int copy_put(const struct volume *volume, const struct record *record, const struct file_layout *layout,
             const struct stat *st, const char *path)
{
    const struct disk *disk = disk_for(volume, record, layout);
    cleanup(freep) char *bytes = NULL;
    char object[OBJECT_PATH];
    size_t len = 0;
    int r = disk == NULL ? 0 : copy_encode(record, st, path, &bytes, &len);

    if (r < 0 || disk == NULL)
        return r;
    copy_path(volume, record->id, object);
    return replace(disk, object, bytes, len);
}

static int write_copy(struct fs *fs, struct file *file, const struct record *record, const struct file_layout *layout)
{
    cleanup(freep) char *path = NULL;
    struct stat st = { 0 };
    int r;

    if (bits_none(&record->bits))
        return record->gen > 0 ? copy_remove(fs->volume, record, layout) : 0;
    if (disk_for(fs->volume, record, layout) == NULL)
        return 0;
    r = inode_path(fs->inodes, file->inode, &path);
    if (r == 0)
        r = stat_stub(fs, file, &st);
    return r < 0 ? r : copy_put(fs->volume, record, layout, &st, path);
}

int copy_write(struct fs *fs, struct file *file)
{
    struct file_layout *layout;
    struct record record;
    int r;

    if (fs->read_only)
        return 0;
    pthread_mutex_lock(&file->meta);
    record = file->stored;
    layout = layouts_ref(fs->layouts, file->layout);
    pthread_mutex_unlock(&file->meta);
    r = write_copy(fs, file, &record, layout);
    layouts_put(fs->layouts, layout);
    return r;
}

int copy_find(struct fs *fs, struct file *file, struct copy *ret_copy)
{
    struct record record;
    char object[OBJECT_PATH];
    int r = -ENOENT;

    layouts_put(fs->layouts, file_look(fs, file, &record));
    copy_path(fs->volume, record.id, object);
    for (uint32_t i = 0; r < 0 && r != -ENOMEM && i < fs->volume->n_disks; i++)
        if (i != fs->volume->home && disk_is_present(&fs->volume->disk[i]))
            r = copy_read(&fs->volume->disk[i], object, ret_copy);
    return r;
}

/* Of a file whose name nobody has looked up in this mount, the old copy knows the path. */
static int put_with_old_path(struct fs *fs, struct file *file, const struct record *record,
                             const struct file_layout *layout, const struct disk *disk)
{
    cleanup(copy_done) struct copy copy = { 0 };
    char object[OBJECT_PATH];
    struct stat st = { 0 };
    int r;

    copy_path(fs->volume, record->id, object);
    r = copy_read(disk, object, &copy);
    if (r == 0)
        r = stat_stub(fs, file, &st);
    return r < 0 ? r : copy_put(fs->volume, record, layout, &st, copy.path);
}

void copy_follow(struct fs *fs, struct file *file, const struct record *record, const struct file_layout *old_layout)
{
    struct record now_stored;
    struct file_layout *layout = file_look(fs, file, &now_stored);
    const struct disk *now = disk_for(fs->volume, record, layout);
    bool is_written = copy_write(fs, file) == 0;
    char object[OBJECT_PATH];

    copy_path(fs->volume, record->id, object);
    for (uint32_t slot = 0; slot < file_layout_slots(old_layout); slot++) {
        uint32_t index = file_layout_disk(old_layout, fs->volume->home, record->old_rotate, slot);
        const struct disk *disk = &fs->volume->disk[index];

        if (index == fs->volume->home || !disk_is_present(disk))
            continue;
        if (!is_written)
            is_written = put_with_old_path(fs, file, record, layout, disk) == 0;
        if (disk != now)
            (void) disk_call(disk, unlink, disk->root, object, 0);
    }
    layouts_put(fs->layouts, layout);
}

/* Where the record names no subfiles, it may be on any disk of the layout. */
int copy_remove(const struct volume *volume, const struct record *record, const struct file_layout *layout)
{
    bool any = bits_none(&record->bits);
    char object[OBJECT_PATH];
    int first = 0;

    copy_path(volume, record->id, object);
    for (uint32_t i = 0; i < volume->n_disks; i++) {
        const struct disk *disk = &volume->disk[i];
        bool here = false;
        int r;

        for (uint32_t slot = 0; !here && slot < file_layout_slots(layout); slot++)
            here = (any || bits_has(&record->bits, slot)) &&
                   file_layout_disk(layout, volume->home, record->rotate, slot) == i;
        if (!here || i == volume->home || !disk_is_present(disk))
            continue;
        r = disk_call(disk, unlink, disk->root, object, 0);
        if (r < 0 && r != -ENOENT && first == 0)
            first = r;
    }
    return first;
}
