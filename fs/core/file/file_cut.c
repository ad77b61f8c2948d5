/* SPDX-License-Identifier: MIT */
/* Making files shorter and longer, holes, and what a generation leaves behind. */
#include "fs/core/file/file_copy.h"
#include "fs/core/file/replicas.h"
#include "fs/core/file/subfiles.h"
#include "fs/core/file/target.h"
#include "fs/core/stub/objects.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <linux/falloc.h>

/* -- to nothing: a new generation, the old one goes when that is durable -- */

struct reap_job {
    struct chore chore;
    struct fs *fs;
    struct inode *inode;
};

int file_remove_old(struct fs *fs, struct file *file)
{
    struct file_layout *layout = NULL;
    struct record record;
    int r;

    mutex_lock(&file->meta);
    record = file->record;
    mutex_unlock(&file->meta);
    if (record.oldest_gen == record.gen)
        return 0;
    r = file_sync_stub(fs, file);
    if (r == 0)
        r = layouts_get(fs->layouts, record.old_layout, &layout);
    if (r < 0)
        return r;
    file_copy_follow(fs, file, layout);
    r = objects_remove_old(fs->volume, fs->layouts, &record, layout);
    layouts_put(fs->layouts, layout);
    if (r < 0)
        return r;
    mutex_lock(&file->meta);
    file->record.oldest_gen = record.gen;
    mutex_unlock(&file->meta);
    return 0;
}

static void run_reap(struct chore *chore)
{
    struct reap_job *reap = (struct reap_job *) chore;
    struct file *file;

    if (file_get(reap->fs, reap->inode, &file) == 0) {
        mutex_lock(&file->sync_lock);
        (void) file_remove_old(reap->fs, file); /* what stays is tried again when the file is next used */
        mutex_unlock(&file->sync_lock);
        file_put(reap->fs, file);
    }
    inode_unref(reap->fs->inodes, reap->inode);
    free(reap);
}

void file_reap_old(struct fs *fs, struct file *file)
{
    struct reap_job *reap = calloc(1, sizeof *reap);

    if (reap == NULL)
        return;
    *reap = (struct reap_job){ .chore = { .run = run_reap }, .fs = fs, .inode = file->inode };
    inode_ref(fs->inodes, file->inode);
    workers_later(fs->workers, &reap->chore);
}

/* Makes the generation in use an empty one with the number that the record has now. io is held exclusively. */
static void begin_anew(struct fs *fs, struct file *file) REQUIRES(file->meta)
{
    struct generation *now = file->now;

    if (file->record.oldest_gen < file->record.gen)
        subfiles_close(fs, now);
    now->number = file->record.gen;
    now->bits = file->record.bits;
    now->dirty = file->record.dirty;
    now->durable = file->record.durable;
    generation_demand(now, 0);
}

static int store_nothing(struct fs *fs, struct file *file)
{
    struct record record;
    int r;

    mutex_lock(&file->meta);
    record = *file_record(file);
    record.size = record.durable_size = record.blocks = 0;
    record.state = RECORD_OK;
    record.padded = true;
    if (!bits_none(&record.bits)) {
        memcpy(record.old_layout, record.layout, HASH_SIZE);
        record.old_rotate = record.rotate;
        record.gen++;
        record.bits = record.durable = record.dirty = (struct record_bits){ 0 };
    }
    r = file_store_changed(fs, file, &record);
    if (r == 0)
        begin_anew(fs, file);
    mutex_unlock(&file->meta);
    return r;
}

/* Replicas begin anew with the file, once no crash can bring back the generation that they have the bytes of. */
int file_cut_to_nothing(struct fs *fs, struct file *file)
{
    int r = 0;

    if (file->replicas != NULL) {
        r = replicas_will_restart(fs, file, file->record.gen + 1);
        if (r == 0)
            r = replicas_will_cut(fs, file, 0);
    }
    if (r == 0)
        r = store_nothing(fs, file);
    if (r == 0 && file->replicas != NULL) {
        r = file_sync_stub(fs, file);
        replicas_restart(fs, file); /* also when that fails: no disk calls anything of them right */
    }
    return r;
}

/* -- shorter -- */

bool file_is_to_be_cut(struct file *file)
{
    bool is;

    mutex_lock(&file->meta);
    is = file->record.state == RECORD_TRUNC;
    mutex_unlock(&file->meta);
    return is;
}

void file_must_cut(struct file *file)
{
    mutex_lock(&file->meta);
    file->record.state = RECORD_TRUNC;
    mutex_unlock(&file->meta);
}

/* The subfiles are synced before the record says that the cut is done: lengths tell how long a file is, so no crash may
 * undo the cut after that. */
int file_finish_cut(struct fs *fs, struct file *file)
{
    int r = subfiles_cut(fs, file->now, file_size(file));

    if (r == 0)
        r = subfiles_sync(fs, file->now);
    if (r < 0)
        return r;
    replicas_cut(fs, file, file_size(file));
    mutex_lock(&file->meta);
    file->record.state = record_rest(&file->record);
    r = file_store(fs, file);
    mutex_unlock(&file->meta);
    return r;
}

/* Makes a file shorter. The record tells of the cut before it is made, and durably where bytes go that an fsync has
 * promised. io is held exclusively. */
static int cut(struct fs *fs, struct file *file, uint64_t size)
{
    struct record record;
    bool promised;
    int r = replicas_will_cut(fs, file, size);

    if (r < 0)
        return r;
    mutex_lock(&file->meta);
    record = *file_record(file);
    promised = size < file->now->strict || size < record.migrated;
    record.size = size;
    record.durable_size = MIN(record.durable_size, size);
    record.migrated = MIN(record.migrated, size);
    record.state = RECORD_TRUNC;
    r = file_store_changed(fs, file, &record);
    if (r == 0)
        file->now->strict = MIN(file->now->strict, size);
    mutex_unlock(&file->meta);
    if (r == 0)
        target_cut(fs, file, size);
    if (r == 0 && promised)
        r = file_sync_stub(fs, file);
    return r < 0 ? r : file_finish_cut(fs, file);
}

/* Whether the generation in use can become one more old generation: no migration has taken the next number, and older
 * generations lie as this one does, since the record has one layout for all of them. */
static bool can_be_generation(const struct record *record)
{
    return !record_migrates(record) && (record->oldest_gen == record->gen || !record_lies_anew(record));
}

static int truncate_locked(struct fs *fs, struct file *file, uint64_t size)
{
    uint64_t old = file_size(file);
    int r = 0;

    if (size == 0 && old > 0 && can_be_generation(&file->record))
        r = file_cut_to_nothing(fs, file);
    else if (size < old)
        r = cut(fs, file, size);
    else
        r = replicas_will_grow(fs, file, size);
    if (r < 0)
        return r;
    mutex_lock(&file->meta);
    file->record.size = size;
    file_touch(file, 0);
    mutex_unlock(&file->meta);
    return 0;
}

static int resize(struct fs *fs, struct file *file, uint64_t size, bool may_cut)
{
    bool old_left;
    int r;

    if (fs->read_only)
        return -EROFS;
    if (size > FALLS_LIMIT)
        return -EFBIG;
    r = file_try_alone(fs, file);
    if (r < 0)
        return r;
    if (file_is_to_be_cut(file))
        r = file_finish_cut(fs, file);
    if (r == 0 && (may_cut || size > file_size(file)))
        r = truncate_locked(fs, file, size);
    mutex_lock(&file->meta);
    old_left = r == 0 && file->record.oldest_gen < file->record.gen;
    mutex_unlock(&file->meta);
    file_end_alone(file);
    if (r == 0)
        r = file_flush(fs, file);
    if (old_left)
        file_reap_old(fs, file);
    return r;
}

int file_truncate(struct fs *fs, struct file *file, uint64_t size)
{
    return resize(fs, file, size, true);
}

int file_grow(struct fs *fs, struct file *file, uint64_t size)
{
    return resize(fs, file, size, false);
}

/* -- allocation and holes -- */

static int allocate(struct fs *fs, struct file *file, int mode, uint64_t off, uint64_t len)
{
    int r = target_will_change(fs, file, off);

    if (r == 0)
        r = replicas_will_change(fs, file, off, off + len);
    if (r < 0)
        return r;
    r = subfiles_allocate(fs, file->now, mode, off, len);
    if (r == 0) {
        target_allocate(fs, file, mode, off, len);
        return replicas_allocate(fs, file, mode, off, len);
    }
    target_fail(file, r); /* nobody knows how much of it was done */
    replicas_lose(file, off, off + len);
    return r;
}

int file_allocate(struct fs *fs, struct file *file, int mode, uint64_t off, uint64_t len)
{
    static const int known[] = { 0, FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                 FALLOC_FL_ZERO_RANGE, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE };
    uint64_t end;
    bool is_known = false;
    int r;

    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        is_known |= mode == known[i];
    if (!is_known)
        return -EOPNOTSUPP;
    if (fs->read_only)
        return -EROFS;
    if (add_overflows(off, len, &end) || end > FALLS_LIMIT)
        return -EFBIG;
    r = file_try_alone(fs, file);
    if (r < 0)
        return r;
    if (file_is_to_be_cut(file))
        r = file_finish_cut(fs, file);
    if (r == 0)
        r = allocate(fs, file, mode, off, len);
    if (r == 0) {
        mutex_lock(&file->meta);
        if ((mode & FALLOC_FL_KEEP_SIZE) == 0)
            file->record.size = MAX(file->record.size, end);
        file_touch(file, (mode & FALLOC_FL_PUNCH_HOLE) != 0 ? 0 : len);
        mutex_unlock(&file->meta);
    } else {
        if (subfiles_cut(fs, file->now, file_size(file)) < 0)
            file_must_cut(file);
        replicas_cut_tails(fs, file);
    }
    file_end_alone(file);
    return r < 0 ? r : file_flush(fs, file);
}

int64_t file_next_data(struct fs *fs, struct file *file, uint64_t off)
{
    uint64_t size = file_size(file);

    return off >= size ? (int64_t) size : subfiles_seek(fs, file->now, off, size, SEEK_DATA);
}

int64_t file_seek(struct fs *fs, struct file *file, uint64_t off, int whence)
{
    uint64_t size;
    int64_t nearest;
    int r;

    r = file_lock_io(fs, file); /* so that the lengths of subfiles stand still */
    if (r < 0)
        return r;
    size = file_size(file);
    nearest = off >= size ? -ENXIO : subfiles_seek(fs, file->now, off, size, whence);
    pthread_rwlock_unlock(&file->io);
    if (whence == SEEK_DATA && nearest == (int64_t) size)
        return -ENXIO;
    return nearest;
}
