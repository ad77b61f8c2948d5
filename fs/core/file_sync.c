/* SPDX-License-Identifier: MIT */
/* fsync: data before the record that speaks of it. */
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
        if (r == -EIO || r == -EUCLEAN)
            r = 0; /* likewise */
    }
    return r;
}

static int pad_if_needed(struct fs *fs, struct file *file)
{
    bool needed = false;
    int r = 0;

    pthread_mutex_lock(&file->meta);
    for (uint32_t slot = 0; !needed && slot < file->n_slots; slot++)
        needed = may_be_short(file, slot);
    pthread_mutex_unlock(&file->meta);
    if (needed) {
        pthread_rwlock_wrlock(&file->io);
        r = file_pad(fs, file);
        pthread_rwlock_unlock(&file->io);
    }
    return r;
}

/* What one sync takes up: those subfiles that were dirty when it began. */
struct synced {
    bool dirty, is_new;
};

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

static int sync_subfile(struct fs *fs, const struct file *file, uint32_t slot, bool is_new)
{
    const struct disk *disk;
    int r = subfile_disk(fs, file, slot, &disk);

    if (r == 0)
        r = disk_call(disk, sync, file->sub[slot].fd, SYNC_DATA);
    if (r == 0 && is_new)
        r = sync_directory(fs, file, disk);
    return r;
}

/* All subfiles that were written: all begin before one is waited for. */
static int sync_subfiles(struct fs *fs, struct file *file)
{
    cleanup(freep) struct synced *synced = calloc(file->n_slots, sizeof *synced);
    const struct disk *disk;
    uint32_t n = 0;
    int first = 0;

    if (synced == NULL)
        return -ENOMEM;
    pthread_mutex_lock(&file->meta);
    for (uint32_t slot = 0; slot < file->n_slots; slot++) {
        struct subfile *sub = &file->sub[slot];

        if (sub->fd < 0 || !(sub->dirty || sub->is_new))
            continue;
        synced[slot] = (struct synced){ .dirty = true, .is_new = sub->is_new };
        sub->dirty = sub->is_new = false;
        n++;
    }
    pthread_mutex_unlock(&file->meta);
    for (uint32_t slot = 0; n > 1 && slot < file->n_slots; slot++)
        if (synced[slot].dirty && subfile_disk(fs, file, slot, &disk) == 0)
            (void) disk_call(disk, sync, file->sub[slot].fd, SYNC_START);
    for (uint32_t slot = 0; slot < file->n_slots; slot++) {
        int r = synced[slot].dirty ? sync_subfile(fs, file, slot, synced[slot].is_new) : 0;

        if (r < 0) {
            pthread_mutex_lock(&file->meta);
            file->sub[slot].dirty = true;
            file->sub[slot].is_new |= synced[slot].is_new;
            pthread_mutex_unlock(&file->meta);
        }
        first = first != 0 ? first : r;
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
    int r = pad_if_needed(fs, file);

    if (r < 0)
        return r;
    pthread_rwlock_rdlock(&file->io); /* against a truncate that closes subfiles */
    pthread_mutex_lock(&file->meta);
    before = file->record;
    pthread_mutex_unlock(&file->meta);
    r = sync_subfiles(fs, file);
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
    if (r < 0) {
        pthread_mutex_lock(&file->meta);
        file->n_errors++;
        pthread_mutex_unlock(&file->meta);
    }
    pthread_mutex_unlock(&file->sync_lock);
    return r;
}
