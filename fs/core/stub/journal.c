/* SPDX-License-Identifier: MIT */
#include "fs/core/stub/journal.h"

#include "fs/core/stub/todo.h"

static int link_stub(struct fs *fs, struct inode *inode, const char *name) REQUIRES(inode->lock)
{
    int fd, r = inode_open(fs->inodes, inode, &fd);

    if (r < 0)
        return r;
    r = disk_call(fs_home(fs), link, fd, "", fs->volume->todo, name);
    inode_close(fs->inodes, inode);
    return r == -EEXIST ? 0 : r;
}

int journal_add(struct fs *fs, struct inode *inode, const struct record *record)
{
    char name[TODO_NAME];
    int r;

    todo_name(record, TODO_MOVES, name);
    mutex_lock(&inode->lock); /* whoever removes a name counts the links that are left */
    r = inode_is_gone(fs->inodes, inode) ? -ENOENT : link_stub(fs, inode, name);
    if (r == 0)
        atomic_store(&inode->is_listed, true);
    mutex_unlock(&inode->lock);
    return r < 0 ? r : disk_call(fs_home(fs), sync, fs->volume->todo, SYNC_ALL);
}

int journal_drop(struct fs *fs, struct inode *inode, const struct record *record)
{
    char name[TODO_NAME];
    int r;

    todo_name(record, TODO_MOVES, name);
    mutex_lock(&inode->lock);
    r = inode_withhold(fs->inodes, inode, false);
    if (r == 0) {
        r = disk_call(fs_home(fs), unlink, fs->volume->todo, name, 0);
        if (r == 0 || r == -ENOENT) {
            atomic_store(&inode->is_listed, false);
            inode_unnamed(fs->inodes, inode, NULL, name, NULL);
            r = 0;
        }
        inode_release(fs->inodes, inode);
    }
    mutex_unlock(&inode->lock);
    return r;
}
