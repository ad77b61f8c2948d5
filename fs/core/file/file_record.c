/* SPDX-License-Identifier: MIT */
/* What a file's stub has and is to have: the record and its storing, size, times and blocks. */
#include "fs/core/file/file.h"

#include "fs/core/disk/file_times.h"
#include "fs/core/file/replicas.h"
#include "fs/core/file/subfiles.h"
#include "fs/core/stub/copy.h"
#include "fs/core/stub/objects.h"
#include "fs/core/stub/stub.h"

#include <string.h>
#include <sys/xattr.h>

/* -- records -- */

struct given_up {
    struct record record;
    uint64_t moment; /* of layouts_give_up */
};

/* Notes that the stored record gives way to one that names other layouts, until the stub is synced. Without memory for
 * that, a sync of the home disk ends what it holds. */
static void give_up(struct fs *fs, struct file *file)
{
    struct given_up *given_up = malloc(sizeof *given_up);
    uint64_t moment = layouts_give_up(fs->layouts, &file->stored);

    if (given_up != NULL)
        *given_up = (struct given_up){ file->stored, moment };
    free(atomic_exchange(&file->given_up, given_up));
}

struct given_up *file_begin_sync_stub(struct file *file)
{
    return atomic_exchange(&file->given_up, NULL);
}

void file_end_sync_stub(struct fs *fs, struct given_up *given_up, bool is_synced)
{
    if (given_up != NULL && is_synced)
        layouts_given_up(fs->layouts, &given_up->record, given_up->moment);
    free(given_up);
}

/* Makes a record that tells of no older generations name no layout of theirs: it shall name what is needed only. */
static void name_layouts(struct record *record)
{
    if (record->oldest_gen < record->gen)
        return;
    memcpy(record->old_layout, record->layout, HASH_SIZE);
    record->old_rotate = record->rotate;
}

static bool names_the_same(const struct record *a, const struct record *b)
{
    return memcmp(a->layout, b->layout, HASH_SIZE) == 0 && memcmp(a->old_layout, b->old_layout, HASH_SIZE) == 0 &&
           memcmp(a->target_layout, b->target_layout, HASH_SIZE) == 0;
}

/* Whether the copy of the stored record lies on another disk than the copy of this record will. A copy that tells of an
 * older generation goes with that generation. */
static bool moves_copy(const struct fs *fs, const struct file *file, const struct record *record)
{
    const struct record *stored = &file->stored;

    return stored->gen == record->gen && memcmp(&stored->bits, &record->bits, sizeof record->bits) != 0 &&
           !bits_none(&stored->bits) &&
           copy_disk(fs->volume, stored, file->now->layout) != copy_disk(fs->volume, record, file->now->layout);
}

const struct record *file_record(struct file *file)
{
    file->record.bits = file->now->bits;
    file->record.dirty = file->now->dirty;
    file->record.durable = file->now->durable;
    return &file->record;
}

static int store(struct fs *fs, struct file *file, struct record *record)
{
    bool names_others;
    int fd, r;

    if (memcmp(record, &file->stored, sizeof *record) == 0 || fs->read_only)
        return 0;
    record->epoch = fs->volume->epoch;
    r = inode_open(fs->inodes, file->inode, &fd);
    if (r < 0)
        return r;
    name_layouts(record);
    names_others = !names_the_same(record, &file->stored);
    if (names_others)
        layouts_hold(fs->layouts, record); /* for good if this fails: nobody knows what the stub has then */
    r = stub_write_record(fs->volume, fd, "", record, XATTR_REPLACE);
    inode_close(fs->inodes, file->inode);
    if (r == 0) {
        if (names_others)
            give_up(fs, file);
        if (moves_copy(fs, file, record))
            atomic_store(&file->inode->copy.moves, true);
        file->stored = *record;
        file->n_stores++;
    }
    return r;
}

int file_store_changed(struct fs *fs, struct file *file, const struct record *changed)
{
    struct record record = *changed;
    int r = store(fs, file, &record);

    if (r == 0) {
        file->record = record;
        file->now->may_be_linked = object_may_be_linked(&record);
    }
    return r;
}

/* The record is stored from where it is, and not copied back: others read fields that change under io alone meanwhile.
 */
int file_store(struct fs *fs, struct file *file)
{
    int r;

    (void) file_record(file);
    r = store(fs, file, &file->record);
    if (r == 0)
        file->now->may_be_linked = object_may_be_linked(&file->record);
    return r;
}

struct generation *file_exchange(struct file *file, struct generation *generation)
{
    struct generation *former = file->now;

    file->now = generation;
    generation->may_be_linked = object_may_be_linked(&file->record);
    return former;
}

bool file_take_copy(struct file *file)
{
    bool is_due;

    mutex_lock(&file->meta);
    is_due = file->n_stores != file->n_stores_copied &&
             (file->record.gen > 0 || !bits_none(&file->now->bits) || atomic_load(&file->inode->copy.moves));
    file->n_stores_copied = file->n_stores;
    mutex_unlock(&file->meta);
    return is_due;
}

/* -- size and times -- */

uint32_t file_slots(struct file *file)
{
    uint32_t n;

    mutex_lock(&file->meta);
    n = file->now->n_slots;
    mutex_unlock(&file->meta);
    return n;
}

uint32_t file_weight(struct file *file)
{
    uint32_t weight;

    mutex_lock(&file->meta);
    weight = file_layout_weight(file->now->layout) + replicas_weight(file->replicas);
    mutex_unlock(&file->meta);
    return weight + (atomic_load(&file->migrates) ? atomic_load(&file->next_weight) : 0);
}

uint64_t file_must_have(struct file *file, uint32_t slot)
{
    uint64_t len;

    mutex_lock(&file->meta);
    len = slot < file->now->n_slots ? generation_must_have(file->now, slot) : 0;
    mutex_unlock(&file->meta);
    return len;
}

uint32_t file_errors(struct file *file)
{
    uint32_t n;

    mutex_lock(&file->meta);
    n = file->n_errors;
    mutex_unlock(&file->meta);
    return n;
}

void file_touch(struct file *file, uint64_t len)
{
    file->mtime = file_times_now();
    file->times_dirty = true;
    file->written += len;
    file->inode->attr.was_read = false;
}

/* Estimates how many blocks a file takes, without asking disks: those that were counted, and what was written since,
 * but no more than the lengths of its subfiles make, and what replicas took. */
static uint64_t estimate_blocks(const struct file *file) REQUIRES(file->meta)
{
    uint64_t most = replicas_blocks(file), counted = file->record.blocks + (file->written + 4095) / 4096 * 8;

    if (file->written == 0)
        return file->record.blocks;
    if (most == SUBFILE_LEN_UNKNOWN)
        return counted;
    for (uint32_t slot = 0; slot < file->now->n_slots; slot++) {
        uint64_t len = file->now->sub[slot].len;

        if (len == SUBFILE_LEN_UNKNOWN)
            len = bits_has(&file->now->bits, slot) ? file_layout_len(file->now->layout, slot, file->record.size) : 0;
        most += (len + 4095) / 4096 * 8;
    }
    return MIN(most, counted);
}

uint64_t file_blocks(struct file *file)
{
    uint64_t blocks;

    mutex_lock(&file->meta);
    blocks = estimate_blocks(file);
    mutex_unlock(&file->meta);
    return blocks;
}

static void update_blocks(struct fs *fs, struct file *file)
{
    uint64_t blocks, written;

    mutex_lock(&file->meta);
    written = file->written;
    mutex_unlock(&file->meta);
    pthread_rwlock_rdlock(&file->io);
    if (subfiles_count_blocks(fs, file->now, &blocks)) {
        blocks += replicas_count_blocks(fs, file);
        mutex_lock(&file->meta);
        file->record.blocks = blocks;
        file->written -= written;
        mutex_unlock(&file->meta);
    }
    pthread_rwlock_unlock(&file->io);
}

int file_count_blocks(struct fs *fs, struct file *file)
{
    const uint64_t before = file_blocks(file);
    int r;

    pthread_rwlock_rdlock(&file->io);
    (void) subfiles_open(fs, file->now); /* nobody may have read them */
    pthread_rwlock_unlock(&file->io);
    update_blocks(fs, file);
    r = fs->read_only ? 0 : file_settle(fs, file);
    if (fs->resized != NULL && file_blocks(file) != before)
        fs->resized(file->inode);
    return r;
}

int file_flush(struct fs *fs, struct file *file)
{
    bool changed;

    mutex_lock(&file->meta);
    changed = file->times_dirty || !file->record.padded;
    mutex_unlock(&file->meta);
    if (changed) {
        update_blocks(fs, file);
        (void) file_pad_if_needed(fs, file);
    }
    return file_settle(fs, file);
}

static int store_times(struct fs *fs, struct file *file) REQUIRES(file->meta)
{
    struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, file->mtime };
    int fd, r;

    if (!file->times_dirty || fs->read_only)
        return 0;
    r = inode_open(fs->inodes, file->inode, &fd);
    if (r < 0)
        return r;
    r = disk_call(fs_home(fs), set_times, fd, "", times);
    inode_close(fs->inodes, file->inode);
    if (r == 0)
        file->times_dirty = false;
    return r;
}

int file_settle(struct fs *fs, struct file *file)
{
    int r;

    mutex_lock(&file->meta);
    if (file->times_dirty) {
        file->record.blocks = estimate_blocks(file);
        file->record.padded = subfiles_are_padded(file->now, file->record.size);
    }
    r = file_store(fs, file);
    if (r == 0)
        r = store_times(fs, file);
    mutex_unlock(&file->meta);
    return r;
}
