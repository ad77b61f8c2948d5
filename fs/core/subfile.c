/* SPDX-License-Identifier: MIT */
#include "fs/core/subfile.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static uint32_t disk_index(const struct fs *fs, const struct file *file, uint32_t slot)
{
    return file_layout_disk(file->layout, fs->volume->home, file->record.rotate, slot);
}

int subfile_disk(struct fs *fs, const struct file *file, uint32_t slot, const struct disk **ret_disk)
{
    *ret_disk = &fs->volume->disk[disk_index(fs, file, slot)];
    return disk_is_present(*ret_disk) ? 0 : -EIO;
}

/* What is opened must be what we made: a regular file with one name. Anything else was put there by somebody. */
static int check(const struct disk *disk, int fd, uint64_t *ret_len)
{
    struct stat st;
    int r = disk_call(disk, stat, fd, "", &st);

    if (r == 0 && (!S_ISREG(st.st_mode) || st.st_nlink != 1))
        r = -EUCLEAN;
    if (r == 0)
        *ret_len = (uint64_t) st.st_size;
    return r;
}

/* -- stamps: what a subfile is, told by itself where its disk has extended attributes -- */

#define STAMP_XATTR "user.fallsfs"
#define STAMP_SIZE  (ID_SIZE + 8 + 4)

static void stamp_of(const struct record *record, uint32_t slot, uint8_t ret_stamp[static STAMP_SIZE])
{
    memcpy(ret_stamp, record->id, ID_SIZE);
    for (int i = 0; i < 8; i++)
        ret_stamp[ID_SIZE + i] = (uint8_t) (record->gen >> 8 * i);
    for (int i = 0; i < 4; i++)
        ret_stamp[ID_SIZE + 8 + i] = (uint8_t) (slot >> 8 * i);
}

/* A new subfile gets its stamp. One without is as good: a copy, a disk without attributes, a crash in between. */
static void put_stamp(const struct disk *disk, int fd, const struct file *file, uint32_t slot)
{
    uint8_t stamp[STAMP_SIZE];

    stamp_of(&file->record, slot, stamp);
    (void) disk_call(disk, set_xattr, fd, "", STAMP_XATTR, stamp, sizeof stamp, 0);
}

int subfile_check_stamp(const struct disk *disk, int dir, const char *path, const struct record *record, uint32_t slot)
{
    uint8_t stamp[STAMP_SIZE], found[STAMP_SIZE];
    ssize_t n = disk_call(disk, get_xattr, dir, path, STAMP_XATTR, found, sizeof found);

    stamp_of(record, slot, stamp);
    return n == STAMP_SIZE && memcmp(stamp, found, STAMP_SIZE) != 0 ? -EUCLEAN : 0;
}

static int open_path(struct fs *fs, const struct disk *disk, const char *path, bool create)
{
    int access = fs->read_only ? O_RDONLY : O_RDWR;
    int fd = disk_call(disk, open, disk->root, path, access | O_NONBLOCK | (create ? O_CREAT : 0), 0600);

    /* A symlink, a device without driver, a socket, a directory. */
    if (fd == -ELOOP || fd == -ENXIO || fd == -ENODEV || fd == -EISDIR)
        return -EUCLEAN;
    return fd;
}

/* What a disk answered, for all to see. */
static int publish(struct file *file, uint32_t slot, int fd, uint64_t len)
{
    struct subfile *sub = &file->sub[slot];

    pthread_mutex_lock(&file->meta);
    sub->fd = fd;
    sub->absent = fd < 0;
    sub->len = len;
    if (fd >= 0)
        bits_mark(&file->record.bits, slot);
    pthread_mutex_unlock(&file->meta);
    return 0;
}

static bool is_promised(struct file *file, uint32_t slot)
{
    bool promised;

    pthread_mutex_lock(&file->meta);
    promised = file_must_have(file, slot) > 0;
    pthread_mutex_unlock(&file->meta);
    return promised;
}

int subfile_check_write(struct file *file, uint32_t slot, uint64_t sub_off)
{
    int r = 0;

    pthread_mutex_lock(&file->meta);
    if (file->sub[slot].len < sub_off && file->sub[slot].len < file_must_have(file, slot))
        r = -EIO;
    pthread_mutex_unlock(&file->meta);
    return r;
}

static int open_anew(struct fs *fs, struct file *file, uint32_t slot, bool create)
{
    const struct disk *disk;
    char path[OBJECT_PATH];
    uint64_t len = 0;
    int fd, r = subfile_disk(fs, file, slot, &disk);

    if (r < 0)
        return r;
    object_path(fs->volume, file->record.id, file->record.gen, slot, file->layout, path);
    /* One that must be there and is not is lost: an empty one in its place would make zeros of its bytes. */
    fd = open_path(fs, disk, path, create && !is_promised(file, slot));
    if (fd == -ENOENT)
        return create ? -EIO : publish(file, slot, -1, 0);
    r = fd < 0 ? fd : check(disk, fd, &len);
    if (r == 0 && len > 0)
        r = subfile_check_stamp(disk, fd, "", &file->record, slot);
    else if (r == 0 && create)
        put_stamp(disk, fd, file, slot);
    if (r < 0) {
        disk_close(disk, &fd);
        return r;
    }
    return publish(file, slot, fd, len);
}

/* True when what is known of the subfile is enough. meta is held. */
static bool is_known(const struct subfile *sub, bool create)
{
    return sub->fd >= 0 || (sub->absent && !create);
}

/* Waits while somebody else opens the subfile, as long as there is hope. meta is held. */
static int wait_for_opening(struct fs *fs, struct file *file, uint32_t slot, bool create)
{
    const struct disk *disk;
    int r = subfile_disk(fs, file, slot, &disk);

    while (r == 0 && file->sub[slot].opening && !is_known(&file->sub[slot], create)) {
        struct timespec when;

        r = watch_refuses(disk->watch);
        if (r < 0)
            return r;
        clock_gettime(CLOCK_REALTIME, &when);
        when.tv_nsec += 100000000;
        when.tv_sec += when.tv_nsec / 1000000000;
        when.tv_nsec %= 1000000000;
        (void) pthread_cond_timedwait(&file->opened, &file->meta, &when);
    }
    return r;
}

int subfile_open(struct fs *fs, struct file *file, uint32_t slot, bool create, int *ret_fd)
{
    struct subfile *sub = &file->sub[slot];
    int r = 0;

    pthread_mutex_lock(&file->meta);
    if (!is_known(sub, create))
        r = wait_for_opening(fs, file, slot, create);
    if (r == 0 && !is_known(sub, create)) {
        sub->opening = true;
        pthread_mutex_unlock(&file->meta);
        r = open_anew(fs, file, slot, create);
        pthread_mutex_lock(&file->meta);
        sub->opening = false;
        pthread_cond_broadcast(&file->opened);
    }
    *ret_fd = sub->fd;
    pthread_mutex_unlock(&file->meta);
    return r;
}

void subfile_close_all(struct fs *fs, struct file *file)
{
    for (uint32_t slot = 0; slot < file->n_slots; slot++) {
        disk_close(&fs->volume->disk[disk_index(fs, file, slot)], &file->sub[slot].fd);
        file->sub[slot] = (struct subfile){ .fd = -1, .len = SUBFILE_LEN_UNKNOWN };
    }
}

int subfile_len(struct fs *fs, struct file *file, uint32_t slot, uint64_t *ret_len)
{
    int fd, r = subfile_open(fs, file, slot, false, &fd);

    pthread_mutex_lock(&file->meta);
    *ret_len = file->sub[slot].len;
    pthread_mutex_unlock(&file->meta);
    return r;
}

int subfile_set_len(struct fs *fs, struct file *file, uint32_t slot, uint64_t len)
{
    const struct disk *disk;
    int fd, r = subfile_disk(fs, file, slot, &disk);

    if (r == 0)
        r = subfile_open(fs, file, slot, true, &fd);
    if (r == 0)
        r = disk_call(disk, truncate, fd, len);
    if (r == 0) {
        pthread_mutex_lock(&file->meta);
        file->sub[slot].len = len;
        bits_mark(&file->record.dirty, slot);
        pthread_mutex_unlock(&file->meta);
    }
    return r;
}

int subfile_remove_all(struct fs *fs, const struct record *record, const struct file_layout *layout, uint64_t from,
                       uint64_t to)
{
    int first = 0;

    for (uint64_t gen = from; gen < to; gen++)
        for (uint32_t slot = 0; slot < file_layout_slots(layout); slot++) {
            const struct disk *disk =
                &fs->volume->disk[file_layout_disk(layout, fs->volume->home, record->rotate, slot)];
            char path[OBJECT_PATH];
            int r;

            /* The record tells which the current generation has; of older ones all are tried. */
            if (gen == record->gen && record->epoch > fs->volume->unclean && !bits_has(&record->bits, slot))
                continue;
            object_path(fs->volume, record->id, gen, slot, layout, path);
            r = disk_is_present(disk) ? disk_call(disk, unlink, disk->root, path, 0) : -EIO;
            if (r < 0 && r != -ENOENT && first == 0)
                first = r;
        }
    return first;
}
