/* SPDX-License-Identifier: MIT */
/* Another layout for a file that has no bytes. */
#include "fs/core/copy.h"
#include "fs/core/file.h"
#include "fs/core/subfile.h"

#include <string.h>

/* What a generation has left goes before the record stops telling where it is: an empty file may have subfiles, and
 * older ones that wait to be removed. sync_lock and io are held. */
static int remove_rest(struct fs *fs, struct file *file)
{
    struct record record;
    int r = file_remove_old(fs, file); /* it may lie otherwise than this one */

    if (r == 0 && !bits_none(&file->record.bits)) /* only changes under io */
        r = file_cut_to_nothing(fs, file);
    if (r == 0)
        r = file_remove_old(fs, file);
    pthread_mutex_lock(&file->meta);
    record = file->record;
    pthread_mutex_unlock(&file->meta);
    return r == 0 && record.gen > 0 ? copy_remove(fs->volume, &record, file->layout) : r;
}

/* A generation of its own: should a crash undo the record, what was written meanwhile is not taken for bytes in the old
 * layout. io is held exclusively. */
static int switch_to(struct fs *fs, struct file *file, struct file_layout *layout, bool rotates)
{
    uint32_t n_slots = file_layout_slots(layout);
    struct file_layout *old = file->layout;
    struct subfile *sub = file_new_slots(n_slots, true);
    struct record before;
    int r;

    if (sub == NULL)
        return -ENOMEM;
    pthread_mutex_lock(&file->meta);
    subfile_close_all(fs, file); /* there are none any more */
    before = file->record;
    record_lay_out(&file->record, layout, rotates);
    file->record.oldest_gen = ++file->record.gen;
    r = file_store(fs, file);
    if (r == 0) {
        free(file->sub);
        file->sub = sub;
        file->n_slots = n_slots;
        file->layout = layouts_ref(fs->layouts, layout);
    } else {
        file->record = before;
        free(sub);
    }
    pthread_mutex_unlock(&file->meta);
    if (r < 0)
        return r;
    layouts_put(fs->layouts, old);
    return file_sync_stub(fs, file);
}

/* sync_lock and io are held. */
static int set_locked(struct fs *fs, struct file *file, struct file_layout *layout, bool rotates)
{
    int r = 0;

    if (file->record.size > 0) /* only changes under io */
        return file_layout_equals(file->layout, layout) ? 0 : -ENOTEMPTY;
    if (file->layout == layout && (rotates || file->record.rotate == 0))
        return 0;
    if (record_migrates(&file->record))
        return -EBUSY;
    if (file->record.state == RECORD_TRUNC)
        r = file_finish_cut(fs, file);
    if (r == 0)
        r = remove_rest(fs, file);
    return r < 0 ? r : switch_to(fs, file, layout, rotates);
}

int file_set_layout(struct fs *fs, struct file *file, struct file_layout *layout, bool rotates)
{
    int r = fs->read_only ? -EROFS : 0;

    if (r < 0)
        return r;
    pthread_mutex_lock(&file->sync_lock);
    r = file_begin_cut(file);
    if (r == 0) {
        r = set_locked(fs, file, layout, rotates);
        file_end_cut(file);
    }
    pthread_mutex_unlock(&file->sync_lock);
    return r;
}
