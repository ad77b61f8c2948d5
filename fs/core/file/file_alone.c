/* SPDX-License-Identifier: MIT */
/* Taking a file for oneself, and how long it is meanwhile: what all others in this room stand on. */
#include "fs/core/file/file.h"

#include <time.h>

uint64_t file_size(struct file *file)
{
    uint64_t size;

    mutex_lock(&file->meta);
    size = file->record.size;
    mutex_unlock(&file->meta);
    return size;
}

/* All ranges are locked first: whoever has read bytes to write them back must not bring back what is cut off. A slow
 * disk behind a range is waited for, as io is, and is no error. */
int file_begin_alone(struct file *file)
{
    int r;

    do
        r = ranges_lock_behind(&file->ranges, 0, UINT64_MAX);
    while (r == -ETIMEDOUT);
    if (r == 0)
        pthread_rwlock_wrlock(&file->io);
    return r;
}

/* What watch_refuses says of the worst of the disks that a file lies on: 0, -ETIMEDOUT, or -EIO. */
static int disks_refuse(const struct fs *fs, struct file *file)
{
    int worst = 0;

    mutex_lock(&file->meta);
    for (uint32_t slot = 0; worst != -EIO && slot < file->now->n_slots; slot++) {
        uint32_t disk = file_layout_disk(file->now->layout, fs->volume->home, file->now->rotate, slot);
        int r = watch_refuses(fs->volume->disk[disk].watch);

        worst = r < 0 ? r : worst;
    }
    mutex_unlock(&file->meta);
    return worst;
}

/* Whoever holds io may be stuck at a disk, and each thread that waited for io would be, too, long after its request has
 * been answered. So a thread that waits looks at the file's disks now and then, and gives up when they refuse. */
int file_lock_io(struct fs *fs, struct file *file)
{
    int busy = pthread_rwlock_trywrlock(&file->io), r = 0;

    while (busy != 0 && (r = disks_refuse(fs, file)) == 0) {
        const struct timespec until = clock_wall_in_ms(WATCH_STALL); /* a rwlock knows no other clock */

        busy = pthread_rwlock_timedwrlock(&file->io, &until);
    }
    return r;
}

int file_lock_sync(struct fs *fs, struct file *file)
{
    bool is_locked = mutex_try_lock(&file->sync_lock);
    int r = 0;

    while (!is_locked && (r = disks_refuse(fs, file)) == 0)
        is_locked = mutex_lock_in_ms(&file->sync_lock, WATCH_STALL);
    return r;
}

int file_try_alone(struct fs *fs, struct file *file)
{
    int r = ranges_try_lock(&file->ranges, 0, UINT64_MAX);

    while (r == -ETIMEDOUT) {
        r = disks_refuse(fs, file);
        if (r < 0)
            return r;
        r = ranges_lock(&file->ranges, 0, UINT64_MAX);
    }
    if (r == 0 && (r = file_lock_io(fs, file)) < 0)
        ranges_unlock(&file->ranges, 0, UINT64_MAX);
    return r;
}

void file_end_alone(struct file *file)
{
    pthread_rwlock_unlock(&file->io);
    ranges_unlock(&file->ranges, 0, UINT64_MAX);
}
