/* SPDX-License-Identifier: MIT */
/* fsync: data before the record that speaks of it. */
#include "fs/core/file/file_copy.h"
#include "fs/core/file/replicas.h"
#include "fs/core/file/subfiles.h"

#include <fcntl.h>
#include <string.h>

int file_pad_if_needed(struct fs *fs, struct file *file)
{
    bool padded;
    int r;

    mutex_lock(&file->meta);
    padded = subfiles_are_padded(file->now, file->record.size);
    file->record.padded = padded;
    mutex_unlock(&file->meta);
    if (padded)
        return 0;
    r = file_settle(fs, file);
    if (r == 0)
        r = file_sync_stub(fs, file);
    if (r == 0)
        r = file_lock_io(fs, file);
    if (r < 0)
        return r;
    r = subfiles_pad(fs, file->now, file_size(file));
    mutex_lock(&file->meta);
    file->record.padded = r == 0;
    mutex_unlock(&file->meta);
    pthread_rwlock_unlock(&file->io);
    return r;
}

int file_sync_stub(struct fs *fs, struct file *file)
{
    const struct disk *home = fs_home(fs);
    int path_fd, fd, r = inode_open(fs->inodes, file->inode, &path_fd);
    struct given_up *given_up;

    if (r < 0)
        return r;
    fd = disk_call(home, open, path_fd, "", O_RDONLY, 0);
    given_up = file_begin_sync_stub(file);
    r = fd < 0 ? fd : disk_call(home, sync, fd, SYNC_ALL);
    file_end_sync_stub(fs, given_up, r == 0);
    disk_close(home, &fd);
    inode_close(fs->inodes, file->inode);
    return r;
}

/* Syncs the directory that a file's name is in, if the name was made since that was last synced. */
static int sync_name(struct fs *fs, struct file *file)
{
    struct inode *parent;
    int r;

    if (!inode_take_new_name(fs->inodes, file->inode, &parent))
        return 0;
    r = fs->calls->sync_dir(fs, parent);
    if (r < 0)
        inode_name_is_new(fs->inodes, file->inode);
    inode_unref(fs->inodes, parent);
    return r;
}

/* Makes the record durable, with the size and subfiles that this fsync confirms: those of before, a copy of the record
 * that was taken when the sync of subfiles began. What came later is not confirmed. */
static int sync_record(struct fs *fs, struct file *file, const struct record *before, bool data_only)
{
    uint32_t n_stores;
    bool needed;
    int r = 0;

    mutex_lock(&file->meta);
    /* When the file was cut meanwhile, or has another generation, a later fsync confirms. */
    if (file->record.gen == before->gen && file->record.size >= before->size && file->record.state != RECORD_TRUNC) {
        file->record.durable_size = file->now->strict = before->size;
        file->now->durable = file->now->strict_bits = before->bits;
    }
    needed = memcmp(file_record(file), &file->stored, sizeof file->stored) != 0 || (!data_only && file->times_dirty);
    mutex_unlock(&file->meta);
    if (needed)
        r = file_settle(fs, file);
    mutex_lock(&file->meta);
    n_stores = file->n_stores;
    needed = !data_only || file->n_stores_synced != n_stores;
    mutex_unlock(&file->meta);
    if (r == 0 && needed)
        r = file_sync_stub(fs, file);
    if (r == 0) {
        mutex_lock(&file->meta);
        file->n_stores_synced = n_stores;
        mutex_unlock(&file->meta);
    }
    return r;
}

static int pad_replicas(struct fs *fs, struct file *file, enum replicas_which which)
{
    bool needed;
    int r;

    if (file->replicas == NULL) /* one that comes just now is none that this sync is to confirm */
        return 0;
    pthread_rwlock_rdlock(&file->io);
    mutex_lock(&file->meta);
    needed = replicas_need_padding(file, which);
    mutex_unlock(&file->meta);
    pthread_rwlock_unlock(&file->io);
    if (!needed)
        return 0;
    r = file_lock_io(fs, file);
    if (r < 0)
        return r;
    r = replicas_pad(fs, file, which);
    pthread_rwlock_unlock(&file->io);
    return r;
}

/* Fills what the second copy lacks of the file: the others can wait. */
static int fill_copy(struct fs *fs, struct file *file)
{
    uint64_t cursor = 0;
    int r = 1;

    while (file->replicas != NULL && r > 0)
        r = replicas_fill(fs, file, REPLICAS_COPY, &cursor);
    return MIN(r, 0);
}

/* Locks io, shared, so that no truncate closes subfiles, and copies the record once the subfiles are as long as it
 * says: a hole that somebody made after they were padded would be taken for lost bytes. The second copy is whole then,
 * too, though a migration may have switched the file meanwhile to a layout with one that has nothing yet. */
static int begin_sync(struct fs *fs, struct file *file, enum replicas_which which, struct record *ret_before)
{
    for (;;) {
        int r = fill_copy(fs, file);
        bool again;

        if (r == 0)
            r = file_pad_if_needed(fs, file);
        if (r == 0)
            r = pad_replicas(fs, file, which);
        if (r < 0)
            return r;
        pthread_rwlock_rdlock(&file->io);
        mutex_lock(&file->meta);
        *ret_before = *file_record(file);
        again = subfiles_need_padding(file->now, file->record.size) || replicas_need_padding(file, which);
        mutex_unlock(&file->meta);
        if (!again && !replicas_lack_copy(file))
            return 0;
        pthread_rwlock_unlock(&file->io);
    }
}

static int sync_all(struct fs *fs, struct file *file, bool data_only, enum replicas_which which)
{
    struct record before;
    int r = begin_sync(fs, file, which, &before);

    if (r < 0)
        return r;
    r = replicas_begin_sync(file, which);
    if (r == 0)
        r = subfiles_sync(fs, file->now);
    if (r == 0)
        r = atomic_exchange(&file->inode->write_error, 0);
    if (r == 0)
        r = replicas_end_sync(fs, file, which);
    if (r == 0)
        r = sync_record(fs, file, &before, data_only);
    pthread_rwlock_unlock(&file->io);
    return r < 0 ? r : sync_name(fs, file);
}

static bool has_copy(struct file *file)
{
    bool has;

    mutex_lock(&file->meta);
    has = file->now->layout->layout->copies > 1;
    mutex_unlock(&file->meta);
    return has;
}

/* Of a file with a second copy the copy of its record is durable, too: with these the home disk may be lost. That its
 * disk fails is no reason for an fsync to. */
static void sync_copy(struct fs *fs, struct file *file)
{
    if (file_take_copy(file))
        (void) file_copy_write(fs, file);
    file_copy_sync(fs, file);
}

static int sync_file(struct fs *fs, struct file *file, bool data_only, enum replicas_which which)
{
    int r;

    if (fs->read_only)
        return 0;
    r = file_lock_sync(fs, file);
    if (r == 0) {
        r = sync_all(fs, file, data_only, which);
        mutex_unlock(&file->sync_lock);
    }
    if (r < 0 && r != -ETIMEDOUT) { /* a stalled disk was not even asked */
        mutex_lock(&file->meta);
        file->n_errors++;
        mutex_unlock(&file->meta);
    }
    if (r == 0 && has_copy(file))
        sync_copy(fs, file);
    else if (r == 0 && file_take_copy(file))
        fs->calls->copy(fs, file->inode);
    return r;
}

int file_sync(struct fs *fs, struct file *file, bool data_only)
{
    return sync_file(fs, file, data_only, REPLICAS_COPY);
}

int file_sync_replicas(struct fs *fs, struct file *file)
{
    return sync_file(fs, file, false, REPLICAS_ALL);
}
