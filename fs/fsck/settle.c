/* SPDX-License-Identifier: MIT */
#include "fs/fsck/settle.h"

#include "fs/core/stub/copy.h"
#include "fs/core/stub/stub.h"
#include "fs/fsck/copies.h"

#include <fcntl.h>
#include <string.h>
#include <sys/xattr.h>

void settling_note(struct settling *settling, const struct record *record, const struct file_layout *layout,
                   uint32_t slot, uint64_t len)
{
    const struct nest *nest = file_layout_nest(layout, slot);

    if (len > nest->size ||
        (record->padded && bits_has(&record->bits, slot) && len < file_layout_len(layout, slot, record->size))) {
        settling->is_doubtful = true;
        return;
    }
    bits_mark(&settling->there, slot);
    if (len > 0)
        settling->size = MAX(settling->size, nest_select(nest, len - 1) + 1);
}

void settling_note_none(struct settling *settling, const struct record *record, uint32_t slot)
{
    settling->is_doubtful |= bits_has(&record->bits, slot);
}

/* Whether a record is to be settled here. What a cut or a migration has begun, the next mount ends; a record that came
 * from a copy (epoch 0) may be older than its file. */
static bool is_undecided(const struct settling *settling, const struct promise *promise, const struct record *record)
{
    if (settling->is_doubtful || record->epoch == 0 || record->state != RECORD_OK || record_migrates(record) ||
        record->oldest_gen < record->gen)
        return false;
    return promise->size != settling->size || memcmp(&promise->bits, &settling->there, sizeof promise->bits) != 0;
}

/* Has all that a dead daemon has written on the disks. */
static int sync_once(struct checking *checking)
{
    int r = checking->is_synced ? 0 : volume_sync(checking->volume);

    checking->is_synced |= r == 0;
    return r;
}

static int pad_object(const struct disk *disk, const char *object, uint64_t len)
{
    struct stat st;
    int fd, r = disk_call(disk, stat, disk->root, object, &st);

    if (r < 0 || (uint64_t) st.st_size >= len)
        return r;
    fd = disk_call(disk, open, disk->root, object, O_WRONLY | O_NONBLOCK, 0);
    r = fd < 0 ? fd : disk_call(disk, truncate, fd, len);
    if (r == 0)
        r = disk_call(disk, sync, fd, SYNC_DATA);
    disk_close(disk, &fd);
    return r;
}

/* Makes the subfiles that are promised as long as the promise is. -ENOENT: one that shares its bit with another was
 * never made. */
static int pad(const struct checking *checking, const struct record *record, const struct file_layout *layout)
{
    int r = 0;

    for (uint32_t slot = 0; r == 0 && slot < file_layout_slots(layout); slot++) {
        uint64_t len = file_layout_len(layout, slot, record->size);
        char object[OBJECT_PATH];

        if (!bits_has(&record->bits, slot) || len == 0)
            continue;
        object_path(checking->volume, record->id, record->gen, slot, layout, object);
        r = pad_object(file_layout_on(layout, checking->volume, record->rotate, slot), object, len);
    }
    return r;
}

/* Puts the copy where it is looked for from now on, and nowhere else: after a crash it may be on any disk. */
static int move_copy(const struct checking *checking, const struct settling_file *file, const struct record *record)
{
    struct volume *volume = checking->volume;
    int r = copies_are_newer(volume, record->id) ? -EPROTONOSUPPORT : 0;

    if (r == 0)
        r = copy_put(volume, record, file->layout, file->st, file->path);
    return r < 0 ? r : copy_remove_others(volume, record, NULL, copy_disk(volume, record, file->layout));
}

int settle(struct checking *checking, const struct settling *settling, const struct settling_file *file,
           struct record *record)
{
    struct record settled = *record;
    int r;

    if (!is_undecided(settling, file->promise, record))
        return 0;
    settled.size = settling->size;
    settled.bits = settling->there;
    settled.dirty = (struct record_bits){ 0 };
    settled.padded = true;
    settled.epoch = checking->volume->epoch;
    record_keep_promise(&settled, &(struct promise){ settled.size, settled.bits });
    r = sync_once(checking);
    if (r == 0 && settled.size != file->promise->size)
        r = checked_replicas_clear(file->replicas, MIN(settled.size, file->promise->size));
    if (r == 0)
        r = pad(checking, &settled, file->layout);
    if (r == -ENOENT)
        return 0;
    if (r == 0)
        r = move_copy(checking, file, &settled);
    if (r == 0)
        r = stub_write_record(checking->volume, file->fd, "", &settled, XATTR_REPLACE);
    if (r == 0)
        *record = settled;
    return r;
}
