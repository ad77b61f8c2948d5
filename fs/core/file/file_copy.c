/* SPDX-License-Identifier: MIT */
#include "fs/core/file/file_copy.h"

static int stat_stub(struct fs *fs, struct file *file, struct stat *ret_stat)
{
    int fd, r = inode_open(fs->inodes, file->inode, &fd);

    if (r < 0)
        return r;
    r = disk_call(fs_home(fs), stat, fd, "", ret_stat);
    inode_close(fs->inodes, file->inode);
    return r;
}

/* Finds the path of a file. When nobody has looked up its name in this mount, the copy that is there knows the path. */
static int find_path(struct fs *fs, struct file *file, char **ret_path)
{
    int r = inode_path(fs->inodes, file->inode, ret_path);
    struct copy copy;

    if (r != -ESTALE || file_copy_find(fs, file, &copy) < 0)
        return r;
    *ret_path = steal(copy.path);
    return 0;
}

static int write_copy(struct fs *fs, struct file *file, const struct record *record, const struct file_layout *layout)
{
    cleanup(freep) char *path = NULL;
    struct stat st = { 0 };
    int r;

    if (bits_none(&record->bits))
        return record->gen > 0 ? copy_remove(fs->volume, record, layout) : 0;
    if (copy_find_disk(fs->volume, record, layout) == NULL)
        return 0;
    r = find_path(fs, file, &path);
    if (r == 0)
        r = stat_stub(fs, file, &st);
    return r < 0 ? r : copy_put(fs->volume, record, layout, &st, path);
}

/* Writes the copy, and removes the former one when it is on another disk. */
static int write_and_move(struct fs *fs, struct file *file) REQUIRES(file->copying)
{
    struct file_layout *layout;
    struct record record;
    bool moves;
    int r;

    mutex_lock(&file->meta);
    record = file->stored;
    layout = layouts_ref(fs->layouts, file->now->layout);
    moves = atomic_exchange(&file->inode->copy.moves, false);
    mutex_unlock(&file->meta);
    r = write_copy(fs, file, &record, layout);
    atomic_store(&file->inode->copy.unsynced, true);
    if (r == 0 && moves)
        r = copy_remove_others(fs->volume, &record, NULL, copy_disk(fs->volume, &record, layout));
    if (r < 0 && moves)
        atomic_store(&file->inode->copy.moves, true);
    layouts_put(fs->layouts, layout);
    return r;
}

int file_copy_write(struct fs *fs, struct file *file)
{
    int r;

    if (fs->read_only)
        return 0;
    mutex_lock(&file->copying);
    r = write_and_move(fs, file);
    mutex_unlock(&file->copying);
    return r;
}

void file_copy_sync(struct fs *fs, struct file *file)
{
    struct file_layout *layout;
    const struct disk *disk;
    struct record record;

    mutex_lock(&file->copying);
    if (atomic_exchange(&file->inode->copy.unsynced, false)) {
        layout = file_look(fs, file, &record);
        disk = copy_find_disk(fs->volume, &record, layout);
        if (disk != NULL && copy_sync(fs->volume, disk, record.id) < 0)
            atomic_store(&file->inode->copy.unsynced, true);
        layouts_put(fs->layouts, layout);
    }
    mutex_unlock(&file->copying);
}

int file_copy_find(struct fs *fs, struct file *file, struct copy *ret_copy)
{
    struct record record;
    char object[OBJECT_PATH];
    int r = -ENOENT;

    layouts_put(fs->layouts, file_look(fs, file, &record));
    copy_path(fs->volume, record.id, object);
    for (uint32_t i = 0; r < 0 && r != -ENOMEM && i < fs->volume->n_disks; i++)
        if (i != fs->volume->home && disk_is_present(&fs->volume->disk[i]))
            r = copy_read(&fs->volume->disk[i], object, ret_copy);
    return r;
}

void file_copy_follow(struct fs *fs, struct file *file, const struct file_layout *old_layout)
{
    struct file_layout *layout;
    struct record record;

    mutex_lock(&file->copying);
    layout = file_look(fs, file, &record);
    if (record_lies_anew(&record))
        (void) write_and_move(fs, file);
    (void) copy_remove_others(fs->volume, &record, &(struct placed_layout){ old_layout, record.old_rotate },
                              copy_disk(fs->volume, &record, layout));
    mutex_unlock(&file->copying);
    layouts_put(fs->layouts, layout);
}

int file_copy_drop(struct fs *fs, struct file *file)
{
    struct file_layout *layout;
    struct record record;
    int r;

    mutex_lock(&file->copying);
    layout = file_look(fs, file, &record);
    r = copy_remove(fs->volume, &record, layout);
    mutex_unlock(&file->copying);
    layouts_put(fs->layouts, layout);
    return r;
}
