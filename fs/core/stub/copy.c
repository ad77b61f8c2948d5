/* SPDX-License-Identifier: MIT */
#include "fs/core/stub/copy.h"

#include "fs/core/disk/file_text.h"
#include "fs/core/volume/promise.h"

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

/* Reads the line behind the record: its length with the newline, or 0 when it cannot be one. */
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
    /* check_canonical finds numbers that copy_encode does not write like that. NOLINTNEXTLINE(cert-err34-c) */
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

/* Checks that a copy is what copy_encode writes, to the last blank: a checksum can be forged. */
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
    if (record_begins_newer((const uint8_t *) bytes, len))
        return -EPROTONOSUPPORT;
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

/* The first disk but the home disk that has bytes of a record's file which starts there, or COPY_NOWHERE. */
static uint32_t first_disk(const struct volume *volume, const struct record *record, const struct file_layout *layout,
                           uint16_t rotate)
{
    for (uint32_t slot = 0; slot < file_layout_slots(layout); slot++) {
        uint32_t index = file_layout_disk(layout, volume->home, rotate, slot);

        if (bits_has(&record->bits, slot) && index != volume->home)
            return index;
    }
    return COPY_NOWHERE;
}

uint32_t copy_disk(const struct volume *volume, const struct record *record, const struct file_layout *layout)
{
    uint32_t index = first_disk(volume, record, layout, record->rotate);

    return index != COPY_NOWHERE || layout->layout->copies < 2
               ? index
               : first_disk(volume, record, layout, file_layout_copy_rotate(layout, record->rotate));
}

const struct disk *copy_find_disk(const struct volume *volume, const struct record *record,
                                  const struct file_layout *layout)
{
    uint32_t index = copy_disk(volume, record, layout);

    return index != COPY_NOWHERE && disk_is_present(&volume->disk[index]) ? &volume->disk[index] : NULL;
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

/* Writes a copy in place of the one that is there. The first one is written under its own name at once: half of it is
 * as good as none, which was there before. */
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

int copy_put(const struct volume *volume, const struct record *record, const struct file_layout *layout,
             const struct stat *st, const char *path)
{
    const struct disk *disk = copy_find_disk(volume, record, layout);
    cleanup(freep) char *bytes = NULL;
    char object[OBJECT_PATH];
    size_t len = 0;
    int r = disk == NULL ? 0 : copy_encode(record, st, path, &bytes, &len);

    if (r < 0 || disk == NULL)
        return r;
    copy_path(volume, record->id, object);
    return replace(disk, object, bytes, len);
}

int copy_sync(const struct volume *volume, const struct disk *disk, const uint8_t id[ID_SIZE])
{
    char object[OBJECT_PATH], dir[OBJECT_PATH];
    int fd, r;

    copy_path(volume, id, object);
    object_path(volume, id, 0, OBJECT_DIR, NULL, dir);
    fd = disk_call(disk, open, disk->root, object, O_RDONLY | O_NONBLOCK, 0);
    if (fd < 0)
        return fd;
    r = disk_call(disk, sync, fd, SYNC_ALL);
    disk_close(disk, &fd);
    return r < 0 ? r : file_text_sync_dir(disk, dir);
}

static bool lies_on(const struct volume *volume, const struct placed_layout *laying, uint16_t rotate,
                    const struct record_bits *bits, uint32_t disk)
{
    for (uint32_t slot = 0; slot < file_layout_slots(laying->layout); slot++)
        if ((bits == NULL || bits_has(bits, slot)) &&
            file_layout_disk(laying->layout, volume->home, rotate, slot) == disk)
            return true;
    return false;
}

/* Whether a file that lies so may have the copy of its record on a disk: on any disk that a slot is on, or, when bits
 * are given, on one with a subfile in bits; also on those of the second copy of its bytes. */
static bool may_be_on(const struct volume *volume, const struct placed_layout *laying, const struct record_bits *bits,
                      uint32_t disk)
{
    return lies_on(volume, laying, laying->rotate, bits, disk) ||
           (laying->layout->layout->copies > 1 &&
            lies_on(volume, laying, file_layout_copy_rotate(laying->layout, laying->rotate), bits, disk));
}

static int remove_copies(const struct volume *volume, const struct record *record, const struct placed_layout *laying,
                         const struct record_bits *bits, uint32_t except)
{
    char object[OBJECT_PATH];
    int first = 0;

    copy_path(volume, record->id, object);
    for (uint32_t i = 0; i < volume->n_disks; i++) {
        const struct disk *disk = &volume->disk[i];
        int r;

        if (i == volume->home || i == except || !disk_is_present(disk) ||
            (laying != NULL && !may_be_on(volume, laying, bits, i)))
            continue;
        r = object_remove(disk, object);
        if (r < 0 && r != -ENOENT && first == 0)
            first = r;
    }
    return first;
}

/* The copy may be on any disk of the layout if the record names no subfiles, and on any disk at all if the record may
 * be behind its file. */
int copy_remove(const struct volume *volume, const struct record *record, const struct file_layout *layout)
{
    const struct placed_layout laying = { layout, record->rotate };
    const struct record_bits *bits = bits_none(&record->bits) ? NULL : &record->bits;

    return remove_copies(volume, record, record_may_be_behind(volume, record) ? NULL : &laying, bits, COPY_NOWHERE);
}

int copy_remove_old(const struct volume *volume, const struct record *record, const struct file_layout *old_layout)
{
    return remove_copies(volume, record, &(struct placed_layout){ old_layout, record->old_rotate }, NULL, COPY_NOWHERE);
}

int copy_remove_others(const struct volume *volume, const struct record *record, const struct placed_layout *laying,
                       uint32_t except)
{
    return remove_copies(volume, record, laying, NULL, except);
}
