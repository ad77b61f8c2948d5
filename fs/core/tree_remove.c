/* SPDX-License-Identifier: MIT */
/* Names that go: unlink, rmdir, rename. Bytes go after their last name and after their last user. */
#include "fs/core/copier.h"
#include "fs/core/file.h"
#include "fs/core/reap.h"
#include "fs/core/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* A name that becomes another, or goes: then that is the new one. */
struct move {
    struct inode *from, *to;
    int from_dir, to_dir;
    const char *name, *new_name;
    unsigned flags;
};

/* What a name stands for that is about to go. */
struct victim {
    struct stat st;
    struct inode *inode; /* NULL: nobody remembers it; else with a reference, withheld */
    bool is_last;        /* its last name */
    bool has_bytes;      /* subfiles, or somebody who may still write some; record is good */
    bool in_use;
    bool needs_spare; /* it is in use, has other names and no spare link, and this is the name that leads to it */
    struct record record;
    char todo[REAP_NAME], waiting[REAP_NAME];
    const char *lies; /* in todo/ when the name has gone: one of these, for those who use it; or NULL */
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

/* Where a descriptor cannot keep a file that has lost the name it is known by: it is known by a link in todo/ then. */
static void look_for_spare(struct fs *fs, const struct move *move, struct victim *victim)
{
    struct inode *inode = victim->inode;

    if (fs_home(fs)->nameless || inode == NULL || inode->file == NULL ||
        !inode_is_named(fs->inodes, inode, move->to, move->new_name))
        return;
    look_at_bytes(fs, move->to_dir, move->new_name, victim);
    victim->has_bytes = false;
    victim->lies = victim->waiting;
    victim->needs_spare = !atomic_load(&inode->has_spare);
}

/* Locks the inode, if there is one, so that nobody else gives it links or takes some. */
static int find_victim(struct fs *fs, const struct move *move, struct victim *victim)
{
    int r = disk_call(fs_home(fs), stat, move->to_dir, move->new_name, &victim->st);

    if (r < 0)
        return r;
    victim->inode = inodes_find_ino(fs->inodes, victim->st.st_ino);
    if (victim->inode == NULL)
        return 0;
    pthread_mutex_lock(&victim->inode->lock);
    if (S_ISREG(victim->st.st_mode))
        r = disk_call(fs_home(fs), stat, move->to_dir, move->new_name, &victim->st);
    if (r < 0) {
        pthread_mutex_unlock(&victim->inode->lock);
        inode_unref(fs->inodes, victim->inode);
        victim->inode = NULL;
    }
    return r;
}

/* Of the name that a move ends at, or that goes. */
static int victim_init(struct fs *fs, const struct move *move, struct victim *victim)
{
    nlink_t n_names;
    int r = find_victim(fs, move, victim);

    if (r < 0)
        return r;
    n_names = victim->st.st_nlink;
    if (victim->inode != NULL)
        n_names -= (nlink_t) atomic_load(&victim->inode->has_spare) + atomic_load(&victim->inode->is_listed);
    victim->is_last = S_ISDIR(victim->st.st_mode) || n_names == 1;
    if (S_ISREG(victim->st.st_mode) && victim->is_last)
        look_at_bytes(fs, move->to_dir, move->new_name, victim);
    else if (S_ISREG(victim->st.st_mode))
        look_for_spare(fs, move, victim);
    r = victim->inode != NULL ? inode_withhold(fs->inodes, victim->inode, victim->is_last) : 0;
    if (r < 0) {
        pthread_mutex_unlock(&victim->inode->lock);
        inode_unref(fs->inodes, victim->inode);
        victim->inode = NULL;
    }
    return r;
}

static void victim_done(struct fs *fs, struct victim *victim)
{
    if (victim->inode == NULL)
        return;
    pthread_mutex_unlock(&victim->inode->lock);
    inode_release(fs->inodes, victim->inode);
    inode_unref(fs->inodes, victim->inode);
    victim->inode = NULL;
}

/* The name has gone. What nobody uses is removed; the rest waits for its last user. */
static void buried(struct fs *fs, struct victim *victim, const struct move *move)
{
    const char *lies = victim->in_use && !fs_home(fs)->nameless ? victim->lies : NULL;

    if (victim->inode != NULL && victim->is_last)
        inode_buried(fs->inodes, victim->inode, &victim->st, lies);
    else if (victim->inode != NULL)
        inode_unnamed(fs->inodes, victim->inode, move->to, move->new_name, lies);
    if (victim->has_bytes && !victim->in_use)
        reaper_take(fs->reaper, &victim->record);
    if (victim->inode != NULL && victim->is_last && !victim->in_use)
        victim->inode->reaped = true;
}

/* Lists a victim in todo/ that may yet keep its name. */
static int list_waiting(struct fs *fs, const struct move *move, const struct victim *victim)
{
    int r = disk_call(fs_home(fs), link, move->to_dir, move->new_name, fs->volume->todo, victim->waiting);

    return r == -EEXIST ? 0 : r;
}

/* It did keep it. What cannot be removed now is a spare link, if somebody may still remove it. */
static void unlist_waiting(struct fs *fs, const struct victim *victim)
{
    bool in_use = victim->inode != NULL && victim->in_use;

    if (in_use && atomic_load(&victim->inode->has_spare))
        return;
    if (disk_call(fs_home(fs), unlink, fs->volume->todo, victim->waiting, 0) < 0 && in_use)
        atomic_store(&victim->inode->has_spare, true);
}

/* Its last name: it goes to todo/. */
static int bury(struct fs *fs, const struct move *move, struct victim *victim)
{
    int r = disk_call(fs_home(fs), rename, move->to_dir, move->new_name, fs->volume->todo, victim->todo, 0);

    if (r < 0)
        return r;
    victim->lies = victim->todo;
    if (victim->inode != NULL && atomic_exchange(&victim->inode->has_spare, false))
        (void) disk_call(fs_home(fs), unlink, fs->volume->todo, victim->waiting, 0); /* or the next mount does */
    return 0;
}

static int take_away(struct fs *fs, const struct move *move, struct victim *victim, int flags)
{
    int r = 0;

    if (victim->has_bytes && (flags & AT_REMOVEDIR) == 0)
        return bury(fs, move, victim);
    if (victim->needs_spare)
        r = list_waiting(fs, move, victim);
    if (r < 0)
        return r;
    r = disk_call(fs_home(fs), unlink, move->to_dir, move->new_name, flags);
    if (r < 0 && victim->needs_spare)
        unlist_waiting(fs, victim);
    if (r == 0 && victim->needs_spare)
        atomic_store(&victim->inode->has_spare, true);
    return r;
}

static int remove_name(struct fs *fs, const struct move *move, int flags)
{
    struct victim victim = { 0 };
    int r = victim_init(fs, move, &victim);

    if (r < 0)
        return r;
    r = take_away(fs, move, &victim, flags);
    if (r == 0)
        buried(fs, &victim, move);
    victim_done(fs, &victim);
    return r;
}

/* Moves the names that an NFS client keeps out of a directory that has no others; 0 when it did. */
static int clear_hidden(struct fs *fs, const struct move *move)
{
    _Alignas(struct dirent64) char buf[4096];
    const struct disk *home = fs_home(fs);
    int fd = disk_call(home, open, move->to_dir, move->new_name, O_RDONLY | O_DIRECTORY, 0), r = -ENOTEMPTY;
    ssize_t n = 0;

    if (fd < 0)
        return fd;
    while ((n = disk_call(home, read_dir, fd, buf, sizeof buf)) > 0)
        for (ssize_t at = 0; at < n;) {
            const struct dirent64 *entry = (const void *) (buf + at);

            at += entry->d_reclen;
            if (tree_hides(fs, entry->d_name))
                r = disk_call(home, rename, fd, entry->d_name, fs->volume->tmp, entry->d_name, 0);
        }
    disk_close(home, &fd);
    return n < 0 ? (int) n : r;
}

static int remove_from(struct fs *fs, struct inode *parent, const char *name, int flags)
{
    struct move move = { .to = parent, .new_name = name };
    int r = fs->read_only ? -EROFS : inode_open(fs->inodes, parent, &move.to_dir);

    if (r < 0)
        return r;
    r = remove_name(fs, &move, flags);
    if (r == -ENOTEMPTY && flags == AT_REMOVEDIR && !fs_home(fs)->nameless && clear_hidden(fs, &move) == 0)
        r = remove_name(fs, &move, flags);
    if (r == -ENOSPC) {
        workers_settle(fs->workers); /* what was removed before makes room in todo/ */
        r = remove_name(fs, &move, flags);
    }
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

/* Whoever replaces a file by a new one expects the old bytes or the new after a crash, also without an fsync. */
static int sync_moved(struct fs *fs, struct inode *moved)
{
    struct file *file;
    bool unsynced;
    int r = file_get(fs, moved, &file);

    if (file_is_lost(r))
        return 0; /* moving it away is fine */
    if (r < 0)
        return r;
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
    bool is_listed = victim->has_bytes || victim->needs_spare;
    int todo = fs->volume->todo, r = is_listed ? list_waiting(fs, move, victim) : 0;

    if (r < 0)
        return r;
    r = disk_call(home, rename, move->from_dir, move->name, move->to_dir, move->new_name, move->flags);
    if (r < 0 && is_listed)
        unlist_waiting(fs, victim);
    if (r < 0 || !is_listed)
        return r;
    victim->lies = victim->waiting;
    if (victim->inode != NULL)
        atomic_store(&victim->inode->has_spare, victim->needs_spare);
    if (!victim->has_bytes)
        return 0;
    if (disk_call(home, rename, todo, victim->waiting, todo, victim->todo, 0) == 0)
        victim->lies = victim->todo;
    else
        victim->has_bytes = false; /* the next mount takes it */
    return 0;
}

/* Renames with the names held; other is what stood at the new place, in an exchange. */
static int rename_named(struct fs *fs, const struct move *move, struct victim *victim, struct inode *moved,
                        struct inode *other)
{
    cleanup(freep) char *name = strdup(move->name), *new_name = strdup(move->new_name);
    int r;

    if (name == NULL || new_name == NULL)
        return -ENOMEM;
    inodes_naming_begin(fs->inodes);
    if (victim != NULL)
        r = rename_over(fs, move, victim);
    else
        r = disk_call(fs_home(fs), rename, move->from_dir, move->name, move->to_dir, move->new_name, move->flags);
    if (r == 0 && moved != NULL)
        inode_renamed(fs->inodes, moved, move->to, steal(new_name));
    if (r == 0 && other != NULL)
        inode_renamed(fs->inodes, other, move->from, steal(name));
    inodes_naming_end(fs->inodes);
    if (r == 0 && victim != NULL)
        buried(fs, victim, move);
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
        r = victim_init(fs, move, &victim);
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
    int r = fs->read_only ? -EROFS : tree_hides(fs, new_name) ? -EPERM : inode_open(fs->inodes, parent, &move.from_dir);

    if (r < 0)
        return r;
    r = inode_open(fs->inodes, new_parent, &move.to_dir);
    if (r == 0) {
        r = rename_in(fs, &move);
        if (r == -ENOSPC) {
            workers_settle(fs->workers); /* as above */
            r = rename_in(fs, &move);
        }
        inode_close(fs->inodes, new_parent);
    }
    inode_close(fs->inodes, parent);
    return r;
}
