/* SPDX-License-Identifier: MIT */
#include "fs/core/file.h"

#include "fs/core/copier.h"
#include "fs/core/jobs.h"
#include "fs/core/reap.h"
#include "fs/core/subfile.h"
#include "fs/core/target.h"

#include <string.h>
#include <sys/xattr.h>

/* -- records -- */

int file_read_record(struct fs *fs, int dir, const char *path, struct record *ret_record)
{
    uint8_t bytes[RECORD_SIZE + 1]; /* one more, to see one that is too long */
    ssize_t n = disk_call(fs_home(fs), get_xattr, dir, path, RECORD_XATTR, bytes, sizeof bytes);

    /* No record, or one too long: as good as a damaged one. */
    if (n == -ENODATA || n == -ERANGE)
        return -EUCLEAN;
    return n < 0 ? (int) n : record_decode(bytes, (size_t) n, ret_record);
}

int file_write_record(struct fs *fs, int dir, const char *path, const struct record *record, int flags)
{
    uint8_t bytes[RECORD_SIZE];

    record_encode(record, bytes);
    return disk_call(fs_home(fs), set_xattr, dir, path, RECORD_XATTR, bytes, sizeof bytes, flags);
}

int file_store(struct fs *fs, struct file *file)
{
    int fd, r;

    if (memcmp(&file->record, &file->stored, sizeof file->record) == 0 || fs->read_only)
        return 0;
    file->record.epoch = fs->volume->epoch;
    r = inode_open(fs->inodes, file->inode, &fd);
    if (r < 0)
        return r;
    r = file_write_record(fs, fd, "", &file->record, XATTR_REPLACE);
    inode_close(fs->inodes, file->inode);
    if (r == 0) {
        file->stored = file->record;
        file->n_stores++;
    }
    return r;
}

/* -- loading -- */

uint64_t file_must_have(const struct file *file, uint32_t slot)
{
    return bits_has(&file->strict_bits, slot) ? file_layout_len(file->layout, slot, file->strict) : 0;
}

/* The mount that stored the record did not end well: what it did later is told by the subfiles' lengths. */
static int look_at_subfiles(struct fs *fs, struct file *file)
{
    struct record_bits found = { 0 };
    uint64_t size = file->record.size;

    for (uint32_t slot = 0; slot < file->n_slots; slot++) {
        uint64_t len, must = file_must_have(file, slot);
        int r = subfile_len(fs, file, slot, &len);

        if (r == -EIO || r == -EUCLEAN)
            len = 0; /* an absent disk, something planted: an error for who reads those bytes */
        else if (r < 0)
            return r;
        if (len > 0) {
            const struct nest *nest = pattern_element(file->layout->pattern, file_layout_element(file->layout, slot));

            if (len > nest->size)
                return -EUCLEAN;
            size = MAX(size, nest_select(nest, len - 1) + 1);
        }
        if (must > 0 || file->sub[slot].fd >= 0 || r < 0)
            bits_mark(&found, slot);
    }
    if (file->record.state != RECORD_TRUNC) /* then what lies behind is to be cut off */
        file->record.size = size;
    file->record.bits = file->record.dirty = found;
    return 0;
}

/* Reading needs nothing that is still to be written, and is possible on disks that have become read-only. */
static int unless_read_only(int r)
{
    return r == -EROFS ? 0 : r;
}

/* Brings a file back into the state it would have after an orderly close. */
static int recover(struct fs *fs, struct file *file)
{
    bool unclean = file->record.epoch <= fs->volume->unclean;
    int r = unclean ? look_at_subfiles(fs, file) : 0;

    if (fs->read_only)
        return r;
    if (r == 0 && file->record.state == RECORD_TRUNC)
        r = unless_read_only(file_finish_cut(fs, file));
    if (r < 0 || !unclean)
        return r;
    file->record.padded = file_pad(fs, file) == 0; /* a disk that fails is no reason not to use the others */
    if (file->record.padded) {
        file->strict = file->record.size;
        file->strict_bits = file->record.bits;
    }
    return unless_read_only(file_store(fs, file));
}

struct subfile *file_new_slots(uint32_t n_slots, bool absent)
{
    struct subfile *sub = calloc(n_slots, sizeof *sub);

    for (uint32_t slot = 0; sub != NULL && slot < n_slots; slot++)
        sub[slot] = (struct subfile){ .fd = -1, .absent = absent, .len = absent ? 0 : SUBFILE_LEN_UNKNOWN };
    return sub;
}

struct file *file_new(struct inode *inode, struct file_layout *layout, const struct record *record)
{
    uint32_t n_slots = file_layout_slots(layout);
    struct file *file = calloc(1, sizeof *file);

    if (file == NULL)
        return NULL;
    file->sub = file_new_slots(n_slots, false);
    if (file->sub == NULL) {
        free(file);
        return NULL;
    }
    file->inode = inode;
    file->layout = layout;
    file->n_slots = n_slots;
    file->record = file->stored = *record;
    file->n_stores = file->n_stores_copied = 1; /* nobody remembers whether it is synced */
    pthread_mutex_init(&file->sync_lock, NULL);
    ranges_init(&file->ranges);
    pthread_rwlock_init(&file->io, NULL);
    pthread_mutex_init(&file->meta, NULL);
    pthread_cond_init(&file->opened, NULL);
    return file;
}

void file_free(struct fs *fs, struct file *file)
{
    subfile_close_all(fs, file);
    target_free(fs, file->target);
    layouts_put(fs->layouts, file->layout);
    pthread_mutex_destroy(&file->sync_lock);
    ranges_done(&file->ranges);
    pthread_rwlock_destroy(&file->io);
    pthread_cond_destroy(&file->opened);
    pthread_mutex_destroy(&file->meta);
    free(file->sub);
    free(file);
}

static int with_layout(struct fs *fs, struct inode *inode, const struct record *record, struct file **ret_file)
{
    struct file_layout *layout;
    int r = layouts_get(fs->layouts, record->layout, &layout);

    if (r < 0)
        return r;
    *ret_file = file_new(inode, layout, record);
    if (*ret_file == NULL)
        layouts_put(fs->layouts, layout);
    return *ret_file != NULL ? 0 : -ENOMEM;
}

/* What must be there, by the record alone. */
static void expect(const struct fs *fs, struct file *file)
{
    const struct record *record = &file->stored;

    if (record->epoch <= fs->volume->unclean || !record->padded) {
        file->strict = record->durable_size;
        file->strict_bits = record->durable;
    } else {
        file->strict = record->size;
        file->strict_bits = record->bits;
    }
    if (record->epoch <= fs->volume->unclean)
        return;
    if (record->epoch < fs->volume->epoch)
        file->record.dirty = (struct record_bits){ 0 }; /* its mount ended with everything synced */
    for (uint32_t slot = 0; slot < file->n_slots; slot++)
        if (!bits_has(&record->bits, slot))
            file->sub[slot] = (struct subfile){ .fd = -1, .absent = true };
}

static int load(struct fs *fs, struct inode *inode, struct file **ret_file)
{
    struct record record;
    struct file *file = NULL;
    int fd, r = inode_open(fs->inodes, inode, &fd);

    if (r < 0)
        return r;
    r = file_read_record(fs, fd, "", &record);
    inode_close(fs->inodes, inode);
    if (r == 0)
        r = with_layout(fs, inode, &record, &file);
    if (r < 0)
        return r;
    expect(fs, file);
    r = recover(fs, file);
    if (r == 0 && !fs->read_only)
        r = target_attach(fs, file);
    if (r < 0) {
        file_free(fs, file);
        return r;
    }
    *ret_file = file;
    return 0;
}

int file_get_made(struct fs *fs, struct inode *inode, const struct record *record, struct file **ret_file)
{
    int r = 0;

    inode_ref(fs->inodes, inode);
    pthread_mutex_lock(&inode->lock);
    if (inode->file == NULL && (r = with_layout(fs, inode, record, &inode->file)) == 0)
        expect(fs, inode->file);
    if (r == 0)
        inode->file->n_users++;
    *ret_file = inode->file;
    pthread_mutex_unlock(&inode->lock);
    if (r < 0)
        inode_unref(fs->inodes, inode);
    return r;
}

/* That an earlier mount began. */
static void finish_work(struct fs *fs, struct file *file)
{
    struct record record;

    pthread_mutex_lock(&file->meta);
    record = file->record;
    pthread_mutex_unlock(&file->meta);
    if (record.oldest_gen < record.gen)
        file_reap_old(fs, file);
    if (record_migrates(&record))
        jobs_note(fs->jobs, file->inode);
}

int file_get(struct fs *fs, struct inode *inode, struct file **ret_file)
{
    bool first;
    int r = 0;

    if (inode->fmt != S_IFREG)
        return inode->fmt == S_IFDIR ? -EISDIR : -EINVAL;
    inode_ref(fs->inodes, inode);
    pthread_mutex_lock(&inode->lock);
    first = inode->file == NULL;
    if (first)
        r = inode->reaped ? -ESTALE : load(fs, inode, &inode->file);
    if (r == 0)
        inode->file->n_users++;
    *ret_file = inode->file;
    pthread_mutex_unlock(&inode->lock);
    if (r < 0)
        inode_unref(fs->inodes, inode);
    else if (first && !fs->read_only)
        finish_work(fs, *ret_file);
    return r;
}

void file_ref(struct fs *fs, struct file *file)
{
    inode_ref(fs->inodes, file->inode);
    pthread_mutex_lock(&file->inode->lock);
    file->n_users++;
    pthread_mutex_unlock(&file->inode->lock);
}

struct file_layout *file_look(struct fs *fs, struct file *file, struct record *ret_record)
{
    struct file_layout *layout;

    pthread_mutex_lock(&file->meta);
    *ret_record = file->record;
    layout = layouts_ref(fs->layouts, file->layout);
    pthread_mutex_unlock(&file->meta);
    return layout;
}

/* The last user goes: subfiles as long as they must be, the record as it is. A file that has no name any more goes. */
static int close_file(struct fs *fs, struct file *file)
{
    struct inode *inode = file->inode;
    int r;

    if (inode_is_gone(fs->inodes, inode)) {
        reaper_take(fs->reaper, &file->record);
        inode->reaped = true;
        return 0;
    }
    if (fs->read_only)
        return 0;
    r = file_settle(fs, file);
    (void) file_pad_if_needed(fs, file); /* a record that does not say so is as good */
    if (r == 0)
        r = file_settle(fs, file);
    if (r == 0)
        reap_spare(fs, inode, &file->record);
    return r;
}

bool file_take_copy(struct file *file)
{
    bool is_due;

    pthread_mutex_lock(&file->meta);
    is_due = file->n_stores != file->n_stores_copied && (file->record.gen > 0 || !bits_none(&file->record.bits));
    file->n_stores_copied = file->n_stores;
    pthread_mutex_unlock(&file->meta);
    return is_due;
}

void file_put(struct fs *fs, struct file *file)
{
    struct inode *inode = file->inode;
    bool last, was_kept, copy_is_due = false;

    pthread_mutex_lock(&inode->lock);
    last = --file->n_users == 0;
    was_kept = file->kept;
    if (last) {
        /* What could not be stored is kept, with a hold on the inode: the next one to close it tries again. */
        file->kept = close_file(fs, file) < 0;
        last = !file->kept;
        copy_is_due = last && !inode->reaped && file_take_copy(file);
    }
    if (last)
        inode->file = NULL;
    else if (file->kept && !was_kept)
        inode_ref(fs->inodes, inode);
    pthread_mutex_unlock(&inode->lock);
    if (last)
        file_free(fs, file); /* closing subfiles may wait for their disks */
    if (copy_is_due)
        copier_take(fs->copier, inode);
    if (last && was_kept)
        inode_unref(fs->inodes, inode);
    inode_unref(fs->inodes, inode);
}

int file_end(struct fs *fs, struct inode *inode)
{
    struct file *file;
    int r = 0;

    pthread_mutex_lock(&inode->lock);
    file = inode->file;
    inode->file = NULL;
    if (file != NULL)
        r = close_file(fs, file);
    pthread_mutex_unlock(&inode->lock);
    if (file != NULL)
        file_free(fs, file);
    return r;
}

/* -- size and times -- */

uint64_t file_size(struct file *file)
{
    uint64_t size;

    pthread_mutex_lock(&file->meta);
    size = file->record.size;
    pthread_mutex_unlock(&file->meta);
    return size;
}

uint32_t file_errors(struct file *file)
{
    uint32_t n;

    pthread_mutex_lock(&file->meta);
    n = file->n_errors;
    pthread_mutex_unlock(&file->meta);
    return n;
}

void file_touch(struct file *file, uint64_t len)
{
    (void) clock_gettime(CLOCK_REALTIME_COARSE, &file->mtime);
    file->times_dirty = true;
    file->written += len;
    file->inode->read_since_change = false;
}

/* Without asking: what was counted, and what was written since, but no more than there is. meta is held. */
static uint64_t estimate_blocks(const struct file *file)
{
    uint64_t most = 0;

    if (file->written == 0)
        return file->record.blocks;
    for (uint32_t slot = 0; slot < file->n_slots; slot++) {
        uint64_t len = file->sub[slot].len;

        if (len == SUBFILE_LEN_UNKNOWN)
            len = bits_has(&file->record.bits, slot) ? file_layout_len(file->layout, slot, file->record.size) : 0;
        most += (len + 4095) / 4096 * 8;
    }
    return MIN(most, file->record.blocks + (file->written + 4095) / 4096 * 8);
}

uint64_t file_blocks(struct file *file)
{
    uint64_t blocks;

    pthread_mutex_lock(&file->meta);
    blocks = estimate_blocks(file);
    pthread_mutex_unlock(&file->meta);
    return blocks;
}

/* Asks the disks, if they all answer promptly and all subfiles are open. io is held: none is closed. */
bool file_count_blocks(struct fs *fs, struct file *file, uint64_t *ret_blocks)
{
    uint64_t blocks = 0;

    for (uint32_t slot = 0; slot < file->n_slots; slot++) {
        const struct disk *disk;
        bool there;
        struct stat st;
        int fd;

        pthread_mutex_lock(&file->meta);
        there = bits_has(&file->record.bits, slot) && !file->sub[slot].absent;
        fd = file->sub[slot].fd;
        pthread_mutex_unlock(&file->meta);
        if (!there)
            continue;
        if (fd < 0 || subfile_disk(fs, file, slot, &disk) < 0 || !watch_is_prompt(disk->watch) ||
            disk_call(disk, stat, fd, "", &st) < 0)
            return false;
        blocks += (uint64_t) st.st_blocks;
    }
    *ret_blocks = blocks;
    return true;
}

static void update_blocks(struct fs *fs, struct file *file)
{
    uint64_t blocks, written;

    pthread_mutex_lock(&file->meta);
    written = file->written;
    pthread_mutex_unlock(&file->meta);
    pthread_rwlock_rdlock(&file->io);
    if (file_count_blocks(fs, file, &blocks)) {
        pthread_mutex_lock(&file->meta);
        file->record.blocks = blocks;
        file->written -= written;
        pthread_mutex_unlock(&file->meta);
    }
    pthread_rwlock_unlock(&file->io);
}

/* All that the last close would do, so that the stub's ctime stands when a program has closed its file. */
int file_flush(struct fs *fs, struct file *file)
{
    bool changed;

    pthread_mutex_lock(&file->meta);
    changed = file->times_dirty || !file->record.padded;
    pthread_mutex_unlock(&file->meta);
    if (changed) {
        update_blocks(fs, file);
        (void) file_pad_if_needed(fs, file);
    }
    return file_settle(fs, file);
}

static int store_times(struct fs *fs, struct file *file)
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

    pthread_mutex_lock(&file->meta);
    if (file->times_dirty) {
        file->record.blocks = estimate_blocks(file);
        file->record.padded = file_is_padded(file);
    }
    r = file_store(fs, file);
    if (r == 0)
        r = store_times(fs, file);
    pthread_mutex_unlock(&file->meta);
    return r;
}
