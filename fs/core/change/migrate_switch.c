/* SPDX-License-Identifier: MIT */
/* The switch of a migration: the generation that was copied to is the file's from now on. */
#include "fs/core/change/migrate.h"

#include "fs/core/disk/file_text.h"
#include "fs/core/file/replicas.h"
#include "fs/core/file/subfile.h"
#include "fs/core/file/subfiles.h"
#include "fs/core/file/target.h"
#include "fs/core/stub/objects.h"

#include <string.h>

/* Makes the record that the file has after the switch. */
static struct record switched(struct file *file) REQUIRES(file->meta)
{
    const struct generation *to = file->next->generation;
    struct record record = *file_record(file);

    memcpy(record.old_layout, record.layout, HASH_SIZE);
    memcpy(record.layout, to->layout->hash, HASH_SIZE);
    record.old_rotate = record.rotate;
    record.rotate = to->rotate;
    record.oldest_gen = record.gen;
    record.gen = to->number;
    record.bits = record.durable = to->bits;
    record.dirty = to->dirty;
    record.durable_size = record.size;
    record.padded = true;
    record.has_map |= file->replicas != NULL;
    record_end_migration(&record);
    return record;
}

/* Puts the target's generation into use. The one that was in use becomes the target's, and goes with it. */
static struct target *exchange(struct file *file) REQUIRES(file->meta)
{
    struct target *target = steal(file->next);
    struct generation *to = target->generation;

    generation_demand(to, file->record.size);
    to->durable = to->bits;
    target->generation = file_exchange(file, to);
    atomic_store(&file->migrates, false);
    return target;
}

/* Links a subfile that stays under its name in the new generation; it loses its other name with the old generation. */
static int link_kept(struct migration *migration, uint32_t slot, uint32_t from)
{
    struct fs *fs = migration->fs;
    struct generation *now = migration->file->now, *to = migration->file->next->generation;
    char old[OBJECT_PATH], new[OBJECT_PATH];
    const struct disk *disk = NULL;
    int fd, r = subfile_open(fs, now, from, SUBFILE_READ, &fd);

    if (r == 0)
        r = subfile_disk(fs, now, from, &disk);
    if (r < 0 || fd < 0)
        return r;
    object_path(fs->volume, now->id, now->number, from, now->layout, old);
    object_path(fs->volume, to->id, to->number, slot, to->layout, new);
    r = disk_call(disk, link, disk->root, old, disk->root, new);
    if (r < 0 && r != -EEXIST)
        return r;
    bits_mark(&to->bits, slot);
    object_path(fs->volume, now->id, 0, OBJECT_DIR, now->layout, old);
    return file_text_sync_dir(disk, old);
}

/* Links all subfiles that stay. They are padded and synced before, to be as durable as what was copied. The caller
 * holds io exclusively. */
static int link_all_kept(struct migration *migration)
{
    struct file *file = migration->file;
    struct generation *to = file->next->generation;
    int r = 0;

    if (!file->next->keeps_any)
        return 0;
    r = subfiles_pad_some(migration->fs, file->now, file_size(file), file->next->keeps);
    if (r == 0)
        r = subfiles_sync_some(migration->fs, file->now, file->next->keeps);
    for (uint32_t slot = 0; r == 0 && slot < to->n_slots; slot++)
        if (to->sub[slot].kept)
            r = link_kept(migration, slot, file->next->kept_from[slot]);
    return r;
}

/* Moves what is known of subfiles that stay to the new generation. The caller holds meta. */
static void take_kept(struct file *file)
{
    struct generation *to = file->next->generation;

    for (uint32_t slot = 0; slot < to->n_slots; slot++) {
        struct subfile *old;

        if (!to->sub[slot].kept)
            continue;
        old = &file->now->sub[file->next->kept_from[slot]];
        to->sub[slot] = *old;
        to->sub[slot].writing = false; /* the worker that would clear it knows the old generation only */
        *old = (struct subfile){ .fd = -1, .absent = true };
    }
}

/* Stores the record that switches. The caller holds io exclusively, the target is whole and durable. When the sync of
 * the record fails, the file has switched all the same: after a crash either record is right. */
static int store_switch(struct migration *migration, struct target **ret_old)
{
    struct file *file = migration->file;
    struct record record;
    int r;

    mutex_lock(&file->meta);
    record = switched(file);
    r = migration_store(migration, &record);
    if (file->record.gen == record.gen) {
        take_kept(file);
        *ret_old = exchange(file);
    }
    mutex_unlock(&file->meta);
    return r;
}

static int switch_locked(struct migration *migration, struct target **ret_old)
{
    struct file *file = migration->file;
    struct generation *to = file->next->generation;
    uint64_t blocks = 0;
    int r;

    r = atomic_load(&file->next->error);
    if (r == 0 && file_is_to_be_cut(file))
        r = file_finish_cut(migration->fs, file);
    if (r == -EIO && file->replicas != NULL) /* a disk of the file fails: what it is switched to is to be cut */
        r = subfiles_cut(migration->fs, to, file_size(file));
    if (r < 0)
        return r;
    r = subfiles_pad(migration->fs, to, file_size(file));
    if (r == 0)
        r = subfiles_sync(migration->fs, to);
    if (r == 0)
        r = link_all_kept(migration);
    if (r < 0)
        return r;
    if (!file->next->keeps_any && subfiles_count_blocks(migration->fs, to, &blocks)) {
        mutex_lock(&file->meta);
        file->record.blocks = blocks;
        file->written = 0;
        mutex_unlock(&file->meta);
    }
    r = replicas_will_switch(migration->fs, file, to->number);
    if (r == 0)
        r = store_switch(migration, ret_old);
    if (*ret_old != NULL) {
        int agreed = replicas_switched(migration->fs, file);

        r = r < 0 ? r : agreed;
    }
    return r;
}

int migration_switch(struct migration *migration)
{
    struct file *file = migration->file;
    struct target *old = NULL;
    int r;

    if (!migration->is_synced) {
        r = subfiles_sync(migration->fs, file->next->generation);
        migration->is_synced = r == 0;
        return r < 0 ? r : 1;
    }
    r = file_begin_alone(file);
    if (r < 0)
        return r;
    r = switch_locked(migration, &old);
    file_end_alone(file);
    target_free(migration->fs, old);
    return old != NULL ? 1 : r;
}
