/* SPDX-License-Identifier: MIT */
#include "fs/core/subfile.h"

#include "fs/core/file_text.h"
#include "fs/core/subfile_map.h"

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

/* A subfile that stays when its file gets another layout has two names for a while. */
bool subfile_may_be_linked(const struct record *record)
{
    return record_migrates(record) || record->oldest_gen < record->gen;
}

/* What is opened must be what we made: a regular file with one name. Anything else was put there by somebody. */
static int check(const struct disk *disk, int fd, const struct record *record, uint64_t *ret_len)
{
    struct stat st;
    int r = disk_call(disk, stat, fd, "", &st);

    if (r == 0 && (!S_ISREG(st.st_mode) || st.st_nlink > 1U + subfile_may_be_linked(record)))
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
static void put_stamp(const struct disk *disk, int dir, const char *path, const struct record *record, uint32_t slot)
{
    uint8_t stamp[STAMP_SIZE];

    stamp_of(record, slot, stamp);
    (void) disk_call(disk, set_xattr, dir, path, STAMP_XATTR, stamp, sizeof stamp, 0);
}

int subfile_check_stamp(const struct disk *disk, int dir, const char *path, const struct record *record, uint32_t slot)
{
    uint8_t stamp[STAMP_SIZE], found[STAMP_SIZE];
    ssize_t n = disk_call(disk, get_xattr, dir, path, STAMP_XATTR, found, sizeof found);

    stamp_of(record, slot, stamp);
    /* One that stays when its file gets another layout still has the stamp of the generation before. */
    return n == STAMP_SIZE && memcmp(stamp, found, subfile_may_be_linked(record) ? ID_SIZE : STAMP_SIZE) != 0 ? -EUCLEAN
                                                                                                              : 0;
}

/* A disk whose file system has found an error lets nobody open for writing; reading goes on. */
static int open_path(struct fs *fs, const struct disk *disk, const char *path, enum subfile_use use,
                     bool *ret_read_only)
{
    int flags = O_NONBLOCK | (use == SUBFILE_CREATE ? O_CREAT : 0), fd = -EROFS;

    *ret_read_only = fs->read_only;
    if (!fs->read_only)
        fd = disk_call(disk, open, disk->root, path, O_RDWR | flags, 0600);
    if (fd == -EROFS && use == SUBFILE_READ) {
        *ret_read_only = true;
        fd = disk_call(disk, open, disk->root, path, O_RDONLY | flags, 0);
    }
    /* A symlink, a device without driver, a socket, a directory. */
    if (fd == -ELOOP || fd == -ENXIO || fd == -ENODEV || fd == -EISDIR)
        return -EUCLEAN;
    return fd;
}

/* What a disk answered, for all to see. */
static int publish(struct file *file, uint32_t slot, int fd, bool read_only, uint64_t len)
{
    struct subfile *sub = &file->sub[slot];

    pthread_mutex_lock(&file->meta);
    sub->fd = fd;
    sub->read_only = read_only;
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

/* absent: none is there as far as the record knows. One that is nevertheless was left by a generation of the same
 * number that a crash has undone; its bytes are nobody's. */
static int open_anew(struct fs *fs, struct file *file, uint32_t slot, bool absent, enum subfile_use use)
{
    const struct disk *disk;
    char path[OBJECT_PATH];
    struct record record;
    uint64_t len = 0;
    bool read_only;
    int fd, r = subfile_disk(fs, file, slot, &disk);

    if (r < 0)
        return r;
    pthread_mutex_lock(&file->meta);
    record = file->record;
    pthread_mutex_unlock(&file->meta);
    object_path(fs->volume, record.id, record.gen, slot, file->layout, path);
    /* One that must be there and is not is lost: an empty one in its place would make zeros of its bytes. */
    fd = open_path(fs, disk, path, use == SUBFILE_CREATE && is_promised(file, slot) ? SUBFILE_CHANGE : use, &read_only);
    if (fd == -ENOENT)
        return use == SUBFILE_CREATE ? -EIO : publish(file, slot, -1, false, 0);
    r = fd < 0 ? fd : check(disk, fd, &record, &len);
    if (r == 0 && absent && len > 0) {
        r = disk_call(disk, truncate, fd, 0);
        len = 0;
    }
    if (r == 0 && len > 0)
        r = subfile_check_stamp(disk, fd, "", &record, slot);
    else if (r == 0 && use == SUBFILE_CREATE)
        put_stamp(disk, fd, "", &record, slot);
    if (r < 0) {
        disk_close(disk, &fd);
        return r;
    }
    return publish(file, slot, fd, read_only, len);
}

/* True when what is known of the subfile is enough. meta is held. */
static bool is_known(const struct subfile *sub, enum subfile_use use)
{
    return sub->fd >= 0 || (sub->absent && use != SUBFILE_CREATE);
}

/* Waits while somebody else opens the subfile, as long as there is hope. meta is held. */
static int wait_for_opening(struct fs *fs, struct file *file, uint32_t slot, enum subfile_use use)
{
    const struct disk *disk;
    int r = subfile_disk(fs, file, slot, &disk);

    while (r == 0 && file->sub[slot].opening && !is_known(&file->sub[slot], use)) {
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

int subfile_open(struct fs *fs, struct file *file, uint32_t slot, enum subfile_use use, int *ret_fd)
{
    struct subfile *sub = &file->sub[slot];
    int r = 0;

    pthread_mutex_lock(&file->meta);
    if (!is_known(sub, use))
        r = wait_for_opening(fs, file, slot, use);
    if (r == 0 && !is_known(sub, use)) {
        bool absent = sub->absent;

        sub->opening = true;
        pthread_mutex_unlock(&file->meta);
        r = open_anew(fs, file, slot, absent, use);
        pthread_mutex_lock(&file->meta);
        sub->opening = false;
        pthread_cond_broadcast(&file->opened);
    }
    if (r == 0 && use != SUBFILE_READ && sub->fd >= 0 && sub->read_only)
        r = -EROFS; /* until nobody has the file open any more */
    *ret_fd = sub->fd;
    pthread_mutex_unlock(&file->meta);
    return r;
}

void subfile_close_all(struct fs *fs, struct file *file)
{
    for (uint32_t slot = 0; slot < file->n_slots; slot++) {
        const struct disk *disk = &fs->volume->disk[disk_index(fs, file, slot)];

        subfile_unmap(disk, &file->sub[slot]);
        disk_close(disk, &file->sub[slot].fd);
        file->sub[slot] = (struct subfile){ .fd = -1, .absent = true };
    }
}

int subfile_len(struct fs *fs, struct file *file, uint32_t slot, uint64_t *ret_len)
{
    int fd, r = subfile_open(fs, file, slot, SUBFILE_READ, &fd);

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
        r = subfile_open(fs, file, slot, SUBFILE_CREATE, &fd);
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
            r = disk->standing == DISK_GONE ? 0
                : disk_is_present(disk)     ? disk_call(disk, unlink, disk->root, path, 0)
                                            : -EIO;
            if (r < 0 && r != -ENOENT && first == 0)
                first = r;
        }
    return first;
}

/* Those that stay get the stamps that go with the names they keep; whether there are any. */
static bool stamp_kept(struct fs *fs, const struct record *record, const struct laying *from, const struct laying *to)
{
    bool any = false;

    for (uint32_t slot = 0; slot < file_layout_slots(to->layout); slot++) {
        const struct disk *disk = &fs->volume->disk[file_layout_disk(to->layout, fs->volume->home, to->rotate, slot)];
        char path[OBJECT_PATH];

        if (laying_same(from, to, fs->volume->home, slot) == UINT32_MAX || !disk_is_present(disk))
            continue;
        object_path(fs->volume, record->id, record->gen, slot, to->layout, path);
        put_stamp(disk, disk->root, path, record, slot);
        any = true;
    }
    return any;
}

/* On all disks that the slots of a layout are on: what is not there will not come back in a crash. */
static int sync_objects(struct fs *fs, const struct record *record, const struct file_layout *layout, uint16_t rotate)
{
    cleanup(freep) bool *synced = calloc(STAMP_MAX_DISKS, sizeof *synced);
    char path[OBJECT_PATH];
    int r = synced == NULL ? -ENOMEM : 0;

    object_path(fs->volume, record->id, 0, OBJECT_DIR, layout, path);
    for (uint32_t slot = 0; r == 0 && slot < file_layout_slots(layout); slot++) {
        uint32_t index = file_layout_disk(layout, fs->volume->home, rotate, slot);
        const struct disk *disk = &fs->volume->disk[index];

        if (!synced[index] && disk_is_present(disk))
            r = file_text_sync_dir(disk, path);
        synced[index] = true;
    }
    return r;
}

static bool has_other_layout(const struct record *record)
{
    return memcmp(record->layout, record->old_layout, HASH_SIZE) != 0 || record->rotate != record->old_rotate;
}

/* One that stays has lost its other name for good before a record knows of one name only: with two again, after a
 * crash, it would be somebody else's. */
int subfile_remove_old(struct fs *fs, const struct record *record, const struct file_layout *old_layout)
{
    const struct laying from = { old_layout, record->old_rotate };
    struct laying to = { .rotate = record->rotate };
    struct record old = *record;
    struct file_layout *layout;
    bool any_stays = false;
    int r;

    old.rotate = record->old_rotate;
    if (has_other_layout(record)) {
        r = layouts_get(fs->layouts, record->layout, &layout);
        if (r < 0)
            return r;
        to.layout = layout;
        any_stays = stamp_kept(fs, record, &from, &to);
        layouts_put(fs->layouts, layout);
    }
    r = subfile_remove_all(fs, &old, old_layout, record->oldest_gen, record->gen);
    return r == 0 && any_stays ? sync_objects(fs, record, old_layout, record->old_rotate) : r;
}

/* When it was given up, the file's next generation may have the same number. */
int subfile_remove_target(struct fs *fs, const struct record *record, const struct file_layout *target_layout)
{
    struct record target = *record;
    int r;

    target.rotate = record->target_rotate;
    r = subfile_remove_all(fs, &target, target_layout, record->gen + 1, record->gen + 2);
    if (r == 0 && (record->target_flags & TARGET_GIVEN_UP) != 0)
        r = sync_objects(fs, record, target_layout, record->target_rotate);
    return r;
}
