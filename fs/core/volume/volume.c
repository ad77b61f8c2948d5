/* SPDX-License-Identifier: MIT */
#include "fs/core/volume/volume_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int volume_fail(struct volume_error *error, int r, const char *fmt, ...)
{
    va_list list;

    va_start(list, fmt);
    vsnprintf(error->why, sizeof error->why, fmt, list);
    va_end(list);
    return r;
}

const char *volume_strerror(int error)
{
    return error == EPROTONOSUPPORT ? "made by a newer fallsfs: use that version" : strerror(error);
}

bool volume_is_free_soon(int error, uint32_t waited_ms)
{
    return error == -EBUSY ? waited_ms < 3000 : error == -EINPROGRESS && waited_ms < 60000;
}

/* Sets the length of all lock files, which others see. A disk where that fails is left as it is. */
static void set_lock_len(struct volume *volume, uint64_t len)
{
    for (uint32_t i = 0; i < volume->n_disks; i++) {
        const struct disk *disk = &volume->disk[i];

        if (disk->lock >= 0)
            (void) disk_call(disk, truncate, disk->lock, len);
    }
}

void volume_note_ending(struct volume *volume)
{
    volume->ending = (volume->flags & VOLUME_READ_ONLY) == 0;
    if (volume->ending)
        set_lock_len(volume, LOCK_ENDING);
}

void volume_free(struct volume *volume)
{
    if (volume == NULL)
        return;
    if (disk_is_present(volume_home(volume))) {
        disk_close(volume_home(volume), &volume->ns);
        disk_close(volume_home(volume), &volume->tmp);
        disk_close(volume_home(volume), &volume->todo);
    }
    for (uint32_t i = 0; i < volume->n_disks; i++) {
        struct disk *disk = &volume->disk[i];

        if (disk->ops != NULL) {
            disk_close_root(disk);
            disk_close(disk, &disk->lock); /* last: from now on another daemon may use the disk */
        }
        free(disk->path);
        free(disk->pool);
        watch_free(disk->watch);
    }
    stamp_done(&volume->stamp);
    epochs_done(&volume->unclean);
    mutex_done(&volume->changing);
    free(volume);
}

void volume_freep(struct volume **volume)
{
    volume_free(*volume);
}

int volume_watch_disk(struct volume *volume, struct disk *disk)
{
    int r = watch_new((uint64_t) volume->patience * 1000, volume->listener, &disk->watch);

    if (r == 0)
        disk->watch->turn = &volume->room_turn;
    return r;
}

int volume_watch(struct volume *volume, uint32_t patience, const struct listener *listener)
{
    volume->patience = patience;
    volume->listener = listener;
    for (uint32_t i = 0; i < volume->n_disks; i++) {
        int r = volume_watch_disk(volume, &volume->disk[i]);

        if (r < 0)
            return r;
    }
    return 0;
}

int volume_stamp_all(struct volume *volume)
{
    int first = 0;

    for (uint32_t i = 0; i < volume->n_disks; i++) {
        struct disk *disk = &volume->disk[i];
        int r;

        if (!disk_is_present(disk))
            continue;
        volume->stamp.index = i;
        r = stamp_write(disk, &volume->stamp);
        if (first == 0)
            first = r;
    }
    return first;
}

int volume_sync(struct volume *volume)
{
    int first = 0;

    for (uint32_t i = 0; i < volume->n_disks; i++) {
        const struct disk *disk = &volume->disk[i];
        int r = disk_is_present(disk) ? disk_call(disk, sync, disk->root, SYNC_DISK) : 0;

        if (first == 0)
            first = r;
    }
    return first;
}

bool volume_last_ended_well(const struct volume *volume)
{
    bool is_read_only = (volume->flags & VOLUME_READ_ONLY) != 0; /* such a mount enters no epoch of its own */

    return !epochs_has(&volume->unclean, is_read_only ? volume->epoch : volume->epoch - 1);
}

int volume_end_epoch(struct volume *volume)
{
    int r;

    if ((volume->flags & VOLUME_READ_ONLY) != 0)
        return 0;
    mutex_lock(&volume->changing);
    volume->stamp.clean = volume->epoch;
    r = volume_stamp_all(volume);
    mutex_unlock(&volume->changing);
    if (volume->ending)
        set_lock_len(volume, 0);
    return r;
}
