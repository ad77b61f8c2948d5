/* SPDX-License-Identifier: MIT */
/* fsync: data before the record that speaks of it. */
#include "fs/core/copier.h"
#include "fs/core/file.h"
#include "fs/core/subfile.h"
#include "fs/core/tree.h"

#include <fcntl.h>
#include <string.h>

/* Whether the subfile of a slot may be shorter than the size demands. meta is held. */
static bool may_be_short(const struct file *file, uint32_t slot)
{
    uint64_t want = file_layout_len(file->layout, slot, file->record.size);

    if (!bits_has(&file->record.bits, slot) || want == 0)
        return false;
    return file->sub[slot].len == SUBFILE_LEN_UNKNOWN ? file_must_have(file, slot) < want : file->sub[slot].len < want;
}

bool file_is_padded(const struct file *file)
{
    for (uint32_t slot = 0; slot < file->n_slots; slot++)
        if (may_be_short(file, slot))
            return false;
    return true;
}

int file_pad(struct fs *fs, struct file *file)
{
    int r = 0;

    for (uint32_t slot = 0; r == 0 && slot < file->n_slots; slot++) {
        uint64_t want, len, must;
        bool maybe;

        pthread_mutex_lock(&file->meta);
        maybe = may_be_short(file, slot);
        must = file_must_have(file, slot);
        want = file_layout_len(file->layout, slot, file->record.size);
        pthread_mutex_unlock(&file->meta);
        if (!maybe)
            continue;
        r = subfile_len(fs, file, slot, &len);
        /* What has lost bytes stays short, to tell so. */
        if (r == 0 && len < want && len >= must)
            r = subfile_set_len(fs, file, slot, want);
    }
    return r;
}

int file_pad_if_needed(struct fs *fs, struct file *file)
{
    bool padded;
    int r;

    pthread_mutex_lock(&file->meta);
    padded = file_is_padded(file);
    file->record.padded = padded;
    pthread_mutex_unlock(&file->meta);
    if (padded)
        return 0;
    r = file_settle(fs, file);
    if (r == 0)
        r = file_sync_stub(fs, file);
    if (r < 0)
        return r;
    pthread_rwlock_wrlock(&file->io);
    r = file_pad(fs, file);
    pthread_mutex_lock(&file->meta);
    file->record.padded = r == 0;
    pthread_mutex_unlock(&file->meta);
    pthread_rwlock_unlock(&file->io);
    return r;
}

static int sync_directory(struct fs *fs, const struct file *file, const struct disk *disk)
{
    char path[OBJECT_PATH];
    int fd, r;

    object_path(fs->volume, file->record.id, 0, OBJECT_DIR, file->layout, path);
    fd = disk_call(disk, open, disk->root, path, O_RDONLY | O_DIRECTORY, 0);
    r = fd < 0 ? fd : disk_call(disk, sync, fd, SYNC_ALL);
    disk_close(disk, &fd);
    return r;
}

/* The name of a subfile is new if the last fsync knew none with its bit. */
static bool may_be_new(const struct file *file, uint32_t slot)
{
    return file->n_slots > RECORD_BITS || !bits_has(&file->record.durable, slot);
}

/* Opens a subfile to sync it; 0 and -1 when there is none. */
static int open_dirty(struct fs *fs, struct file *file, uint32_t slot, const struct disk **ret_disk, int *ret_fd)
{
    int r = subfile_disk(fs, file, slot, ret_disk);

    return r < 0 ? r : subfile_open(fs, file, slot, SUBFILE_READ, ret_fd);
}

static int sync_subfile(struct fs *fs, struct file *file, uint32_t slot)
{
    const struct disk *disk;
    int fd, r = open_dirty(fs, file, slot, &disk, &fd);

    if (r < 0 || fd < 0)
        return r;
    r = disk_call(disk, sync, fd, SYNC_DATA);
    return r == 0 && may_be_new(file, slot) ? sync_directory(fs, file, disk) : r;
}

struct sync_job {
    struct job job;
    struct fs *fs;
    struct file *file;
    uint32_t slot;
    int result;
};

static void run_sync(struct job *job)
{
    struct sync_job *sync = (struct sync_job *) job;

    sync->result = sync_subfile(sync->fs, sync->file, sync->slot);
}

#define SYNCS_AT_ONCE 32

/* Some of the dirty ones from *slot on, all at once: a disk takes as long as it needs only beside the others. */
static int sync_some(struct fs *fs, struct file *file, const struct record_bits *dirty, uint32_t *slot)
{
    struct sync_job sync[SYNCS_AT_ONCE];
    struct job *job[SYNCS_AT_ONCE] = { NULL };
    uint32_t n = 0;
    int first = 0;

    for (; *slot < file->n_slots && n < SYNCS_AT_ONCE; ++*slot) {
        if (!bits_has(dirty, *slot))
            continue;
        sync[n] = (struct sync_job){ .job = { .run = run_sync }, .fs = fs, .file = file, .slot = *slot };
        job[n] = &sync[n].job;
        n++;
    }
    workers_run(fs->workers, job, n);
    for (uint32_t i = 0; i < n; i++)
        first = first != 0 ? first : sync[i].result;
    return first;
}

int file_sync_subfiles(struct fs *fs, struct file *file)
{
    struct record_bits dirty;
    int first = 0;

    pthread_mutex_lock(&file->meta);
    dirty = file->record.dirty;
    file->record.dirty = (struct record_bits){ 0 }; /* what is written from here on is not covered */
    pthread_mutex_unlock(&file->meta);
    if (bits_none(&dirty))
        return 0;
    for (uint32_t slot = 0; slot < file->n_slots;) {
        int r = sync_some(fs, file, &dirty, &slot);

        first = first != 0 ? first : r;
    }
    if (first < 0) {
        pthread_mutex_lock(&file->meta);
        bits_add(&file->record.dirty, &dirty);
        pthread_mutex_unlock(&file->meta);
    }
    return first;
}

int file_sync_stub(struct fs *fs, struct file *file)
{
    const struct disk *home = fs_home(fs);
    int path_fd, fd, r = inode_open(fs->inodes, file->inode, &path_fd);

    if (r < 0)
        return r;
    fd = disk_call(home, open, path_fd, "", O_RDONLY, 0);
    r = fd < 0 ? fd : disk_call(home, sync, fd, SYNC_ALL);
    disk_close(home, &fd);
    inode_close(fs->inodes, file->inode);
    return r;
}

/* A name made since its directory was synced. */
static int sync_name(struct fs *fs, struct file *file)
{
    struct inode *parent;
    int r;

    if (!inode_take_new_name(fs->inodes, file->inode, &parent))
        return 0;
    r = tree_sync_dir(fs, parent);
    if (r < 0)
        inode_name_is_new(fs->inodes, file->inode);
    inode_unref(fs->inodes, parent);
    return r;
}

/* Size and whereabouts are the record's; nothing that came after before was taken is confirmed. */
static int sync_record(struct fs *fs, struct file *file, const struct record *before, bool data_only)
{
    uint32_t n_stores;
    bool needed;
    int r = 0;

    pthread_mutex_lock(&file->meta);
    /* Size or generation may have gone back meanwhile: then a later fsync confirms. */
    if (file->record.gen == before->gen && file->record.size >= before->size && file->record.state != RECORD_TRUNC) {
        file->record.durable_size = file->strict = before->size;
        file->record.durable = file->strict_bits = before->bits;
    }
    needed = memcmp(&file->record, &file->stored, sizeof file->record) != 0 || (!data_only && file->times_dirty);
    pthread_mutex_unlock(&file->meta);
    if (needed)
        r = file_settle(fs, file);
    pthread_mutex_lock(&file->meta);
    n_stores = file->n_stores;
    needed = !data_only || file->n_stores_synced != n_stores;
    pthread_mutex_unlock(&file->meta);
    if (r == 0 && needed)
        r = file_sync_stub(fs, file);
    if (r == 0) {
        pthread_mutex_lock(&file->meta);
        file->n_stores_synced = n_stores;
        pthread_mutex_unlock(&file->meta);
    }
    return r;
}

/* Short for want of padding, not for bytes that are lost. meta is held. */
static bool needs_padding(const struct file *file)
{
    for (uint32_t slot = 0; slot < file->n_slots; slot++)
        if (may_be_short(file, slot) && file->sub[slot].len >= file_must_have(file, slot))
            return true;
    return false;
}

/* Takes io against a truncate that closes subfiles, and the record when subfiles are as long as it says: a hole that
 * somebody made since they were padded would be taken for lost bytes. */
static int begin_sync(struct fs *fs, struct file *file, struct record *ret_before)
{
    for (;;) {
        int r = file_pad_if_needed(fs, file);
        bool again;

        if (r < 0)
            return r;
        pthread_rwlock_rdlock(&file->io);
        pthread_mutex_lock(&file->meta);
        *ret_before = file->record;
        again = needs_padding(file);
        pthread_mutex_unlock(&file->meta);
        if (!again)
            return 0;
        pthread_rwlock_unlock(&file->io);
    }
}

static int sync_all(struct fs *fs, struct file *file, bool data_only)
{
    struct record before;
    int r = begin_sync(fs, file, &before);

    if (r < 0)
        return r;
    r = file_sync_subfiles(fs, file);
    if (r == 0)
        r = atomic_exchange(&file->inode->write_error, 0);
    if (r == 0)
        r = sync_record(fs, file, &before, data_only);
    pthread_rwlock_unlock(&file->io);
    return r < 0 ? r : sync_name(fs, file);
}

int file_sync(struct fs *fs, struct file *file, bool data_only)
{
    int r;

    if (fs->read_only)
        return 0;
    pthread_mutex_lock(&file->sync_lock);
    r = sync_all(fs, file, data_only);
    if (r < 0 && r != -ETIMEDOUT) { /* a stalled disk was not even asked */
        pthread_mutex_lock(&file->meta);
        file->n_errors++;
        pthread_mutex_unlock(&file->meta);
    }
    pthread_mutex_unlock(&file->sync_lock);
    if (r == 0 && file_take_copy(file))
        copier_take(fs->copier, file->inode);
    return r;
}
