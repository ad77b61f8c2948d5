/* SPDX-License-Identifier: MIT */
/* Another layout for a file that has no bytes. */
#include "fs/core/disk/random.h"
#include "fs/core/file/file.h"
#include "fs/core/file/file_copy.h"
#include "fs/core/file/replicas.h"
#include "fs/core/file/subfiles.h"
#include "fs/core/volume/room.h"

#include <string.h>

/* Removes what the generations of an empty file have left, before the record stops telling where that is: it may have
 * subfiles, and older ones that wait to be removed. io is held exclusively. */
static int remove_rest(struct fs *fs, struct file *file) REQUIRES(file->sync_lock)
{
    int r = file_remove_old(fs, file); /* older generations may lie otherwise than this one */

    if (r == 0 && !bits_none(&file->now->bits)) /* bits changes only under io */
        r = file_cut_to_nothing(fs, file);
    if (r == 0)
        r = file_remove_old(fs, file);
    return r == 0 && file->record.gen > 0 ? file_copy_drop(fs, file) : r; /* gen changes only under io */
}

/* Gives the file a layout as a new generation: should a crash undo the record, what was written meanwhile is not taken
 * for bytes in the old layout. io is held exclusively. */
static int switch_to(struct fs *fs, struct file *file, struct file_layout *layout, uint16_t rotate)
{
    struct generation *next, *former = NULL;
    struct record record;
    int r;

    mutex_lock(&file->meta);
    record = *file_record(file);
    record_lay_out(&record, layout, rotate);
    record.has_map |= file->replicas != NULL;
    record.oldest_gen = ++record.gen;
    next = generation_new(file->inode, layouts_ref(fs->layouts, layout), &record, &file->meta, &file->opened);
    if (next == NULL) {
        mutex_unlock(&file->meta);
        layouts_put(fs->layouts, layout);
        return -ENOMEM;
    }
    generation_has_none(next);
    r = file_store_changed(fs, file, &record);
    if (r == 0)
        former = file_exchange(file, next);
    mutex_unlock(&file->meta);
    subfiles_free(fs, r == 0 ? former : next);
    return r < 0 ? r : file_sync_stub(fs, file);
}

/* Gives an empty file another layout, as file_set_layout says. io is held exclusively. */
static int set_locked(struct fs *fs, struct file *file, struct file_layout *layout, bool rotates)
    REQUIRES(file->sync_lock)
{
    uint64_t bits = 0;
    int r = 0;

    if (file->record.size > 0) /* size changes only under io */
        return file_layout_equals(file->now->layout, layout) ? 0 : -ENOTEMPTY;
    if (file->now->layout == layout && (rotates || file->record.rotate == 0))
        return 0;
    if (record_migrates(&file->record))
        return -EBUSY;
    if (file_is_to_be_cut(file))
        r = file_finish_cut(fs, file);
    if (r == 0)
        r = remove_rest(fs, file);
    if (r == 0 && rotates)
        r = random_bytes(&bits, sizeof bits);
    if (r == 0)
        r = replicas_will_restart(fs, file, file->record.gen + 1);
    if (r == 0)
        r = switch_to(fs, file, layout, rotates ? room_draw_start(fs->volume, layout, bits) : 0);
    if (r < 0)
        return r;
    replicas_restart(fs, file);
    return replicas_switched(fs, file);
}

int file_set_layout(struct fs *fs, struct file *file, struct file_layout *layout, bool rotates)
{
    int r;

    if (fs->read_only)
        return -EROFS;
    r = file_lock_sync(fs, file);
    if (r != 0)
        return r;
    r = file_try_alone(fs, file);
    if (r == 0) {
        r = set_locked(fs, file, layout, rotates);
        file_end_alone(file);
    }
    mutex_unlock(&file->sync_lock);
    return r;
}
