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

    return r < 0 ? r : subfile_open(fs, file, slot, false, ret_fd);
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

static void start_syncs(struct fs *fs, struct file *file, const struct record_bits *dirty)
{
    for (uint32_t slot = 0; slot < file->n_slots; slot++) {
        const struct disk *disk;
        int fd;

        if (bits_has(dirty, slot) && open_dirty(fs, file, slot, &disk, &fd) == 0 && fd >= 0)
            (void) disk_call(disk, sync, fd, SYNC_START);
    }
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
    start_syncs(fs, file, &dirty);
    for (uint32_t slot = 0; slot < file->n_slots; slot++) {
        int r = bits_has(&dirty, slot) ? sync_subfile(fs, file, slot) : 0;

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
    inode_close(fs->inodes, file->inode);
    r = fd < 0 ? fd : disk_call(home, sync, fd, SYNC_ALL);
    disk_close(home, &fd);
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
    if (file->record.gen == before->gen && file->record.size >= before->size && file->record.state == RECORD_OK) {
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

static int sync_all(struct fs *fs, struct file *file, bool data_only)
{
    struct record before;
    int r = file_pad_if_needed(fs, file);

    if (r < 0)
        return r;
    pthread_rwlock_rdlock(&file->io); /* against a truncate that closes subfiles */
    pthread_mutex_lock(&file->meta);
    before = file->record;
    pthread_mutex_unlock(&file->meta);
    r = file_sync_subfiles(fs, file);
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
