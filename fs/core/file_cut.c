/* SPDX-License-Identifier: MIT */
/* Making files shorter and longer, holes, and what a generation leaves behind. */
#include "fs/core/copy.h"
#include "fs/core/file.h"
#include "fs/core/subfile.h"
#include "fs/core/target.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <linux/falloc.h>

/* -- to nothing: a new generation, the old one goes when that is durable -- */

struct reap_job {
    struct job job;
    struct fs *fs;
    struct inode *inode;
};

int file_remove_old(struct fs *fs, struct file *file)
{
    struct file_layout *layout = NULL;
    struct record record;
    int r;

    pthread_mutex_lock(&file->meta);
    record = file->record;
    pthread_mutex_unlock(&file->meta);
    if (record.oldest_gen == record.gen)
        return 0;
    r = file_sync_stub(fs, file);
    if (r == 0)
        r = layouts_get(fs->layouts, record.old_layout, &layout);
    if (r < 0)
        return r;
    if (memcmp(record.layout, record.old_layout, HASH_SIZE) != 0 || record.rotate != record.old_rotate)
        copy_follow(fs, file, &record, layout);
    r = subfile_remove_old(fs, &record, layout);
    layouts_put(fs->layouts, layout);
    if (r < 0)
        return r;
    pthread_mutex_lock(&file->meta);
    file->record.oldest_gen = record.gen;
    pthread_mutex_unlock(&file->meta);
    return 0;
}

static void run_reap(struct job *job)
{
    struct reap_job *reap = (struct reap_job *) job;
    struct file *file;

    if (file_get(reap->fs, reap->inode, &file) == 0) {
        pthread_mutex_lock(&file->sync_lock);
        (void) file_remove_old(reap->fs, file); /* what stays is tried again when the file is next used */
        pthread_mutex_unlock(&file->sync_lock);
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
    *reap = (struct reap_job){ .job = { .run = run_reap }, .fs = fs, .inode = file->inode };
    inode_ref(fs->inodes, file->inode);
    workers_later(fs->workers, &reap->job);
}

int file_cut_to_nothing(struct fs *fs, struct file *file)
{
    struct record record, before;
    int r;

    pthread_mutex_lock(&file->meta);
    record = before = file->record;
    record.size = record.durable_size = record.blocks = 0;
    record.state = RECORD_OK;
    record.padded = true;
    if (!bits_none(&record.bits)) {
        memcpy(record.old_layout, record.layout, HASH_SIZE);
        record.old_rotate = record.rotate;
        record.gen++;
        record.bits = record.durable = record.dirty = (struct record_bits){ 0 };
    }
    file->record = record;
    r = file_store(fs, file);
    if (r == 0) {
        file->strict = 0;
        file->strict_bits = record.bits;
        if (record.oldest_gen < record.gen)
            subfile_close_all(fs, file);
    } else {
        file->record = before;
    }
    pthread_mutex_unlock(&file->meta);
    return r;
}

/* -- shorter -- */

int file_cut_tails(struct fs *fs, struct file *file)
{
    uint64_t size = file_size(file);
    int r = 0;

    for (uint32_t slot = 0; r == 0 && slot < file->n_slots; slot++) {
        uint64_t want = file_layout_len(file->layout, slot, size), len;

        r = subfile_len(fs, file, slot, &len);
        if (r == 0 && len > want)
            r = subfile_set_len(fs, file, slot, want);
    }
    return r;
}

void file_must_cut(struct file *file)
{
    pthread_mutex_lock(&file->meta);
    file->record.state = RECORD_TRUNC;
    pthread_mutex_unlock(&file->meta);
}

/* The record may say that it is done only when no crash can undo it: lengths tell how long a file is. */
int file_finish_cut(struct fs *fs, struct file *file)
{
    int r = file_cut_tails(fs, file);

    if (r == 0)
        r = file_sync_subfiles(fs, file);
    if (r < 0)
        return r;
    pthread_mutex_lock(&file->meta);
    file->record.state = record_rest(&file->record);
    r = file_store(fs, file);
    pthread_mutex_unlock(&file->meta);
    return r;
}

/* io is held exclusively. The record tells of the cut before it is made; where bytes go that an fsync has promised, it
 * tells so durably. */
static int cut(struct fs *fs, struct file *file, uint64_t size)
{
    struct record before;
    bool promised;
    int r;

    pthread_mutex_lock(&file->meta);
    before = file->record;
    promised = size < file->strict || size < file->record.migrated;
    file->record.size = size;
    file->record.durable_size = MIN(file->record.durable_size, size);
    file->record.migrated = MIN(file->record.migrated, size);
    file->record.state = RECORD_TRUNC;
    r = file_store(fs, file);
    if (r == 0)
        file->strict = MIN(file->strict, size);
    else
        file->record = before;
    pthread_mutex_unlock(&file->meta);
    if (r == 0)
        target_cut(fs, file, size);
    if (r == 0 && promised)
        r = file_sync_stub(fs, file);
    return r < 0 ? r : file_finish_cut(fs, file);
}

/* What was cut off must not be written back by who has read it before. It is waited for as io is: a slow disk is no
 * error, and behind one that hangs the keeper answers. */
int file_begin_cut(struct file *file)
{
    int r;

    do
        r = ranges_lock(&file->ranges, 0, UINT64_MAX);
    while (r == -ETIMEDOUT);
    if (r == 0)
        pthread_rwlock_wrlock(&file->io);
    return r;
}

void file_end_cut(struct file *file)
{
    pthread_rwlock_unlock(&file->io);
    ranges_unlock(&file->ranges, 0, UINT64_MAX);
}

/* Whether what the file has can become one more old generation: the next one is not taken by a migration, and older
 * ones lie as this one does, since one record tells of all. */
static bool can_be_generation(const struct record *record)
{
    return !record_migrates(record) &&
           (record->oldest_gen == record->gen ||
            (memcmp(record->layout, record->old_layout, HASH_SIZE) == 0 && record->rotate == record->old_rotate));
}

static int truncate_locked(struct fs *fs, struct file *file, uint64_t size)
{
    uint64_t old = file_size(file);
    int r = 0;

    if (size == 0 && old > 0 && can_be_generation(&file->record))
        r = file_cut_to_nothing(fs, file);
    else if (size < old)
        r = cut(fs, file, size);
    if (r < 0)
        return r;
    pthread_mutex_lock(&file->meta);
    file->record.size = size;
    file_touch(file, 0);
    pthread_mutex_unlock(&file->meta);
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
    r = file_begin_cut(file);
    if (r < 0)
        return r;
    if (file->record.state == RECORD_TRUNC) /* only changes under io */
        r = file_finish_cut(fs, file);
    if (r == 0 && (may_cut || size > file_size(file)))
        r = truncate_locked(fs, file, size);
    pthread_mutex_lock(&file->meta);
    old_left = r == 0 && file->record.oldest_gen < file->record.gen;
    pthread_mutex_unlock(&file->meta);
    file_end_cut(file);
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

/* One call for each subfile: a range of the file is a range of each. */
int file_allocate_subfiles(struct fs *fs, struct file *file, int mode, uint64_t off, uint64_t len)
{
    bool digs = (mode & FALLOC_FL_PUNCH_HOLE) != 0;
    int r = 0;

    for (uint32_t slot = 0; r == 0 && slot < file->n_slots; slot++) {
        uint64_t lo = file_layout_len(file->layout, slot, off), hi = file_layout_len(file->layout, slot, off + len);
        const struct disk *disk;
        int fd = -1;

        if (lo == hi || file->sub[slot].kept)
            continue;
        r = subfile_disk(fs, file, slot, &disk);
        if (r == 0)
            r = subfile_open(fs, file, slot, digs ? SUBFILE_CHANGE : SUBFILE_CREATE, &fd);
        if (r == 0 && fd >= 0)
            r = disk_call(disk, allocate, fd, mode, lo, hi - lo);
        if (r == 0 && fd >= 0) {
            pthread_mutex_lock(&file->meta);
            bits_mark(&file->record.dirty, slot);
            if ((mode & FALLOC_FL_KEEP_SIZE) == 0)
                file->sub[slot].len = MAX(file->sub[slot].len, hi);
            pthread_mutex_unlock(&file->meta);
        }
    }
    return r;
}

static int allocate(struct fs *fs, struct file *file, int mode, uint64_t off, uint64_t len)
{
    int r = target_will_change(fs, file, off);

    if (r == 0)
        r = file_allocate_subfiles(fs, file, mode, off, len);
    if (r == 0)
        target_allocate(fs, file, mode, off, len);
    else
        target_fail(file, r); /* who knows what was done */
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
    r = file_begin_cut(file);
    if (r < 0)
        return r;
    if (file->record.state == RECORD_TRUNC)
        r = file_finish_cut(fs, file);
    if (r == 0)
        r = allocate(fs, file, mode, off, len);
    if (r == 0) {
        pthread_mutex_lock(&file->meta);
        if ((mode & FALLOC_FL_KEEP_SIZE) == 0)
            file->record.size = MAX(file->record.size, end);
        file_touch(file, (mode & FALLOC_FL_PUNCH_HOLE) != 0 ? 0 : len);
        pthread_mutex_unlock(&file->meta);
    } else {
        if (file_cut_tails(fs, file) < 0)
            file_must_cut(file);
    }
    file_end_cut(file);
    return r < 0 ? r : file_flush(fs, file);
}

/* The first data, or the first hole, in one subfile from the file's byte off on: a byte of the file, or size. */
static int64_t seek_in_subfile(struct fs *fs, struct file *file, uint32_t slot, uint64_t off, uint64_t size, int whence)
{
    const struct nest *nest = pattern_element(file->layout->pattern, file_layout_element(file->layout, slot));
    uint64_t sub_off = file_layout_len(file->layout, slot, off), end = file_layout_len(file->layout, slot, size);
    const struct disk *disk;
    int fd, r = subfile_open(fs, file, slot, SUBFILE_READ, &fd);
    int64_t at;

    if (r < 0)
        return r;
    if (sub_off >= end)
        return (int64_t) size;
    if (fd < 0 || (uint64_t) file->sub[slot].len <= sub_off)
        return whence == SEEK_HOLE ? (int64_t) nest_select(nest, sub_off) : (int64_t) size;
    r = subfile_disk(fs, file, slot, &disk);
    at = r < 0 ? r : disk_call(disk, seek, fd, sub_off, whence);
    if (at == -ENXIO)
        return (int64_t) size; /* no data behind */
    if (at < 0)
        return at;
    return (uint64_t) at < end ? (int64_t) nest_select(nest, (uint64_t) at) : (int64_t) size;
}

static int64_t seek_nearest(struct fs *fs, struct file *file, uint64_t off, uint64_t size, int whence)
{
    int64_t nearest = (int64_t) size;

    for (uint32_t slot = 0; nearest >= 0 && slot < file->n_slots; slot++) {
        int64_t at = seek_in_subfile(fs, file, slot, off, size, whence);

        nearest = at < 0 ? at : MIN(nearest, at);
    }
    return nearest;
}

int64_t file_next_data(struct fs *fs, struct file *file, uint64_t off)
{
    uint64_t size = file_size(file);

    return off >= size ? (int64_t) size : seek_nearest(fs, file, off, size, SEEK_DATA);
}

int64_t file_seek(struct fs *fs, struct file *file, uint64_t off, int whence)
{
    uint64_t size;
    int64_t nearest;

    pthread_rwlock_wrlock(&file->io); /* lengths of subfiles stand still */
    size = file_size(file);
    nearest = off >= size ? -ENXIO : seek_nearest(fs, file, off, size, whence);
    pthread_rwlock_unlock(&file->io);
    if (whence == SEEK_DATA && nearest == (int64_t) size)
        return -ENXIO;
    return nearest;
}
