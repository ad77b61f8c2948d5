/* SPDX-License-Identifier: MIT */
/* Names that go: unlink, rmdir, rename. Bytes go after their last name and after their last user. */
#include "fs/core/copier.h"
#include "fs/core/file.h"
#include "fs/core/reap.h"
#include "fs/core/tree.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* What a name stands for that is about to go. */
struct victim {
    struct stat st;
    struct inode *inode; /* NULL: nobody remembers it; else with a reference and a descriptor */
    bool is_last;        /* its last name */
    bool has_bytes;      /* subfiles, or somebody who may still write some; record is good */
    bool in_use;
    struct record record;
    char todo[REAP_NAME], waiting[REAP_NAME];
};

/* With the inode's lock held, if there is one: nobody opens it meanwhile. */
static void look_at_bytes(struct fs *fs, int dir, const char *name, struct victim *victim)
{
    struct file *file = victim->inode != NULL ? victim->inode->file : NULL;
    const struct record *record = &victim->record;

    if (file != NULL) {
        pthread_mutex_lock(&file->meta);
        victim->record = file->record;
        pthread_mutex_unlock(&file->meta);
    } else if (file_read_record(fs, dir, name, &victim->record) < 0) {
        return; /* damaged: what subfiles it has, only fsck can find out */
    }
    victim->in_use = file != NULL;
    victim->has_bytes =
        victim->in_use || !bits_none(&record->bits) || record->gen > 0 || record->epoch <= fs->volume->unclean;
    reap_name(record, false, victim->todo);
    reap_name(record, true, victim->waiting);
}

static int victim_init(struct fs *fs, int dir, const char *name, struct victim *victim)
{
    int fd, r = disk_call(fs_home(fs), stat, dir, name, &victim->st);

    if (r < 0)
        return r;
    victim->is_last = S_ISDIR(victim->st.st_mode) || victim->st.st_nlink == 1;
    victim->inode = inodes_find_ino(fs->inodes, victim->st.st_ino);
    if (victim->inode != NULL) {
        r = inode_open(fs->inodes, victim->inode, &fd);
        if (r < 0) {
            inode_unref(fs->inodes, victim->inode);
            victim->inode = NULL;
            return r;
        }
        pthread_mutex_lock(&victim->inode->lock);
    }
    if (S_ISREG(victim->st.st_mode) && victim->is_last)
        look_at_bytes(fs, dir, name, victim);
    return 0;
}

static void victim_done(struct fs *fs, struct victim *victim)
{
    if (victim->inode == NULL)
        return;
    pthread_mutex_unlock(&victim->inode->lock);
    inode_close(fs->inodes, victim->inode);
    inode_unref(fs->inodes, victim->inode);
    victim->inode = NULL;
}

/* The name has gone. What nobody uses is removed; the rest waits for its last user. */
static void buried(struct fs *fs, struct victim *victim, const struct inode *parent, const char *name)
{
    if (victim->inode != NULL)
        inode_unnamed(fs->inodes, victim->inode, parent, name, victim->is_last);
    if (victim->has_bytes && !victim->in_use)
        reaper_take(fs->reaper, &victim->record);
    if (victim->inode != NULL && victim->is_last && !victim->in_use)
        victim->inode->reaped = true;
}

static int remove_name(struct fs *fs, struct inode *parent, int dir, const char *name, int flags)
{
    const struct disk *home = fs_home(fs);
    struct victim victim = { 0 };
    int r = victim_init(fs, dir, name, &victim);

    if (r < 0)
        return r;
    if (victim.has_bytes && (flags & AT_REMOVEDIR) == 0)
        r = disk_call(home, rename, dir, name, fs->volume->todo, victim.todo, 0);
    else
        r = disk_call(home, unlink, dir, name, flags);
    if (r == 0)
        buried(fs, &victim, parent, name);
    victim_done(fs, &victim);
    return r;
}

static int remove_from(struct fs *fs, struct inode *parent, const char *name, int flags)
{
    int dir, r = fs->read_only ? -EROFS : inode_open(fs->inodes, parent, &dir);

    if (r < 0)
        return r;
    r = remove_name(fs, parent, dir, name, flags);
    inode_close(fs->inodes, parent);
    return r;
}

int tree_unlink(struct fs *fs, struct inode *parent, const char *name)
{
    return remove_from(fs, parent, name, 0);
}

int tree_rmdir(struct fs *fs, struct inode *parent, const char *name)
{
    return remove_from(fs, parent, name, AT_REMOVEDIR);
}

/* -- rename -- */

struct move {
    struct inode *from, *to;
    int from_dir, to_dir;
    const char *name, *new_name;
    unsigned flags;
};

/* Whoever replaces a file by a new one expects the old bytes or the new after a crash, also without an fsync. */
static int sync_moved(struct fs *fs, struct inode *moved)
{
    struct file *file;
    bool unsynced;
    int r = file_get(fs, moved, &file);

    if (r < 0)
        return 0; /* damaged: moving it away is fine */
    pthread_mutex_lock(&file->meta);
    unsynced = file->record.durable_size != file->record.size;
    pthread_mutex_unlock(&file->meta);
    r = unsynced ? file_sync(fs, file, false) : 0;
    file_put(fs, file);
    return r;
}

/* The victim is listed in todo/ before it loses its name, and again after: the second change stands behind the rename
 * in the home disk's journal, so that a sync of todo/ covers the rename. */
static int rename_over(struct fs *fs, const struct move *move, struct victim *victim)
{
    const struct disk *home = fs_home(fs);
    int todo = fs->volume->todo, r = 0;

    if (victim->has_bytes) {
        r = disk_call(home, link, move->to_dir, move->new_name, todo, victim->waiting);
        if (r == -EEXIST)
            r = 0;
    }
    if (r < 0)
        return r;
    r = disk_call(home, rename, move->from_dir, move->name, move->to_dir, move->new_name, move->flags);
    if (!victim->has_bytes)
        return r;
    if (r < 0)
        (void) disk_call(home, unlink, todo, victim->waiting, 0);
    else if (disk_call(home, rename, todo, victim->waiting, todo, victim->todo, 0) < 0)
        victim->has_bytes = false; /* the next mount takes it */
    return r;
}

/* Renames with the names held; other is what stood at the new place, in an exchange. */
static int rename_named(struct fs *fs, const struct move *move, struct victim *victim, struct inode *moved,
                        struct inode *other)
{
    int r;

    inodes_naming_begin(fs->inodes);
    if (victim != NULL)
        r = rename_over(fs, move, victim);
    else
        r = disk_call(fs_home(fs), rename, move->from_dir, move->name, move->to_dir, move->new_name, move->flags);
    if (r == 0 && moved != NULL)
        inode_renamed(fs->inodes, moved, move->to, move->new_name);
    if (r == 0 && other != NULL)
        inode_renamed(fs->inodes, other, move->from, move->name);
    inodes_naming_end(fs->inodes);
    if (r == 0 && victim != NULL)
        buried(fs, victim, move->to, move->new_name);
    return r;
}

static int rename_in(struct fs *fs, struct move *move)
{
    const struct disk *home = fs_home(fs);
    struct inode *moved = NULL, *other = NULL;
    struct victim victim = { 0 };
    struct stat from, to;
    bool replaces;
    int r = disk_call(home, stat, move->from_dir, move->name, &from);

    if (r < 0)
        return r;
    r = disk_call(home, stat, move->to_dir, move->new_name, &to);
    if (r < 0 && r != -ENOENT)
        return r;
    if (r == 0 && (move->flags & RENAME_NOREPLACE) != 0)
        return -EEXIST;
    move->flags &= ~(unsigned) RENAME_NOREPLACE; /* the kernel lets nobody else in between; NFS does not know it */
    replaces = r == 0 && (move->flags & RENAME_EXCHANGE) == 0;
    if (replaces && from.st_ino == to.st_ino)
        return 0; /* two names of one file: nothing happens */
    if (r == 0 && !replaces)
        other = inodes_find_ino(fs->inodes, to.st_ino);
    moved = inodes_find_ino(fs->inodes, from.st_ino);
    r = replaces && moved != NULL && S_ISREG(from.st_mode) ? sync_moved(fs, moved) : 0;
    if (r == 0 && replaces)
        r = victim_init(fs, move->to_dir, move->new_name, &victim);
    if (r == 0) {
        r = rename_named(fs, move, replaces ? &victim : NULL, moved, other);
        victim_done(fs, &victim);
        if (r == 0 && moved != NULL && S_ISREG(from.st_mode))
            copier_take(fs->copier, moved); /* it tells the path */
    }
    inode_unref(fs->inodes, moved);
    inode_unref(fs->inodes, other);
    return r;
}

int tree_rename(struct fs *fs, struct inode *parent, const char *name, struct inode *new_parent, const char *new_name,
                unsigned flags)
{
    struct move move = { .from = parent, .to = new_parent, .name = name, .new_name = new_name, .flags = flags };
    int r = fs->read_only ? -EROFS : inode_open(fs->inodes, parent, &move.from_dir);

    if (r < 0)
        return r;
    r = inode_open(fs->inodes, new_parent, &move.to_dir);
    if (r == 0) {
        r = rename_in(fs, &move);
        inode_close(fs->inodes, new_parent);
    }
    inode_close(fs->inodes, parent);
    return r;
}
