/* SPDX-License-Identifier: MIT */
/* Names that go: unlink, rmdir, rename. Bytes go after their last name and after their last user. */
#include "fs/core/file/file.h"
#include "fs/core/stub/census.h"
#include "fs/core/stub/stub.h"
#include "fs/core/stub/todo.h"
#include "fs/core/tree/copier.h"
#include "fs/core/tree/reap.h"
#include "fs/core/tree/tree.h"
#include "fs/core/volume/promise.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* A name in from that becomes new_name in to. A name that is removed is new_name in to, and from and name are NULL. */
struct move {
    struct inode *from, *to;
    int from_dir, to_dir;
    const char *name, *new_name;
    unsigned flags;
};

/* What is behind a name that is about to go. If somebody remembers the inode, its lock is held from find_victim to
 * victim_done: a lock that is taken on some ways only is beyond clang's analysis. */
struct victim {
    struct stat st;
    struct inode *inode; /* NULL: nobody remembers it; else with a reference, withheld */
    bool is_last;        /* the name is its last one */
    bool has_bytes;      /* subfiles, or somebody who may still write some; record is good */
    bool in_use;
    bool is_known;     /* the kernel knows it, and may open it yet */
    bool goes_at_once; /* it has nothing but its stub, which goes with the name; record is good */
    bool needs_spare;  /* it is in use, has other names and no spare link, and this is the name that leads to it */
    struct record record;
    char todo[TODO_NAME], waiting[TODO_NAME];
    const char *lies; /* the name in todo/, one of these, by which its users find it when its own has gone; or NULL */
};

/* Finds out whether a file whose last name goes has bytes to be removed. The inode's lock is held, if there is an
 * inode: nobody opens it meanwhile. -EPROTONOSUPPORT: only a newer fallsfs knows where the bytes are. */
static int look_at_bytes(struct fs *fs, int dir, const char *name, struct victim *victim)
{
    struct file *file = victim->inode != NULL ? victim->inode->file : NULL;
    const struct record *record = &victim->record;
    int r = 0;

    if (file != NULL) {
        mutex_lock(&file->meta);
        victim->record = *file_record(file);
        mutex_unlock(&file->meta);
    } else {
        r = stub_read_record(fs->volume, dir, name, &victim->record);
    }
    if (r < 0)
        return r == -EPROTONOSUPPORT ? r : 0; /* damaged: what subfiles it has, only fsck can find out */
    victim->in_use = file != NULL;
    victim->is_known = victim->inode != NULL && inode_is_known(fs->inodes, victim->inode);
    /* A file without bytes that the kernel may yet open does not go through todo/ where a descriptor keeps its stub:
     * what is written to it then, a crash can leave to fsck. */
    victim->has_bytes = victim->in_use || (victim->is_known && !fs_home(fs)->nameless) || !bits_none(&record->bits) ||
                        record->gen > 0 || record->has_map || record_may_be_behind(fs->volume, record);
    victim->goes_at_once = !victim->has_bytes && !record_migrates(record);
    todo_name(record, TODO_GONE, victim->todo);
    todo_name(record, TODO_WAITS, victim->waiting);
    return 0;
}

/* Prepares for a file in use to lose the name it is known by, though it has others. Where a descriptor cannot keep it,
 * it is then known by a link in todo/, its spare. */
static void look_for_spare(struct fs *fs, const struct move *move, struct victim *victim)
{
    struct inode *inode = victim->inode;

    if (fs_home(fs)->nameless || inode == NULL || inode->file == NULL ||
        !inode_is_named(fs->inodes, inode, move->to, move->new_name))
        return;
    (void) look_at_bytes(fs, move->to_dir, move->new_name, victim); /* a file in use is in memory: no disk is asked */
    victim->has_bytes = victim->goes_at_once = false;
    victim->lies = victim->waiting;
    victim->needs_spare = !atomic_load(&inode->has_spare);
}

/* Looks at what has the name that is about to go, and locks its inode, if there is one, so that nobody else gives it
 * links or takes some. */
static int find_victim(struct fs *fs, const struct move *move, struct victim *victim) NO_LOCK_ANALYSIS
{
    int r = disk_call(fs_home(fs), stat, move->to_dir, move->new_name, &victim->st);

    if (r < 0)
        return r;
    victim->inode = inodes_find_ino(fs->inodes, victim->st.st_ino);
    if (victim->inode == NULL)
        return 0;
    mutex_lock(&victim->inode->lock);
    if (S_ISREG(victim->st.st_mode))
        r = disk_call(fs_home(fs), stat, move->to_dir, move->new_name, &victim->st);
    if (r < 0) {
        mutex_unlock(&victim->inode->lock);
        inode_unref(fs->inodes, victim->inode);
        victim->inode = NULL;
    }
    return r;
}

/* Finds out all about the victim of a move: what has the name that the move ends at, or that is removed. */
static int victim_init(struct fs *fs, const struct move *move, struct victim *victim) NO_LOCK_ANALYSIS
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
        r = look_at_bytes(fs, move->to_dir, move->new_name, victim);
    else if (S_ISREG(victim->st.st_mode))
        look_for_spare(fs, move, victim);
    if (r == 0 && victim->inode != NULL)
        r = inode_withhold(fs->inodes, victim->inode, victim->is_last);
    if (r < 0 && victim->inode != NULL) {
        mutex_unlock(&victim->inode->lock);
        inode_unref(fs->inodes, victim->inode);
        victim->inode = NULL;
    }
    return r;
}

static void victim_done(struct fs *fs, struct victim *victim) NO_LOCK_ANALYSIS
{
    if (victim->inode == NULL)
        return;
    mutex_unlock(&victim->inode->lock);
    inode_release(fs->inodes, victim->inode);
    if (fs->gone != NULL && inode_is_gone(fs->inodes, victim->inode))
        fs->gone(victim->inode);
    inode_unref(fs->inodes, victim->inode);
    victim->inode = NULL;
}

/* Notes that the victim's name has gone. A file without names is removed, once nobody uses it and the kernel has
 * forgotten it. */
static void buried(struct fs *fs, struct victim *victim, const struct move *move) NO_LOCK_ANALYSIS
{
    bool is_wanted = victim->in_use || victim->is_known;
    const char *lies = is_wanted && !fs_home(fs)->nameless ? victim->lies : NULL;
    const struct record *record = victim->has_bytes || victim->goes_at_once ? &victim->record : NULL;

    if (victim->inode != NULL && victim->is_last)
        inode_buried(fs->inodes, victim->inode, &victim->st, lies);
    else if (victim->inode != NULL)
        inode_unnamed(fs->inodes, victim->inode, move->to, move->new_name, lies);
    if (victim->inode != NULL && !victim->is_last && S_ISREG(victim->st.st_mode))
        atomic_store(&victim->inode->copy.lacks_name, true);
    if (victim->inode != NULL && victim->is_last && S_ISREG(victim->st.st_mode))
        file_buried(fs, victim->inode, record, !victim->goes_at_once);
    else if (victim->inode == NULL && victim->has_bytes)
        reaper_take(fs->reaper, record, true);
    else if (victim->inode == NULL && victim->goes_at_once)
        (void) layouts_give_up(fs->layouts, record);
}

/* Lists a victim in todo/ that may yet keep its name. */
static int list_waiting(struct fs *fs, const struct move *move, const struct victim *victim)
{
    int r = disk_call(fs_home(fs), link, move->to_dir, move->new_name, fs->volume->todo, victim->waiting);

    return r == -EEXIST ? 0 : r;
}

/* Takes a victim that has kept its name out of todo/. When that fails, the link becomes the spare of a file in use,
 * which is removed with its last user. */
static void unlist_waiting(struct fs *fs, const struct victim *victim)
{
    bool in_use = victim->inode != NULL && victim->in_use;

    if (in_use && atomic_load(&victim->inode->has_spare))
        return;
    if (disk_call(fs_home(fs), unlink, fs->volume->todo, victim->waiting, 0) < 0 && in_use)
        atomic_store(&victim->inode->has_spare, true);
}

/* Moves a victim from its last name to todo/. */
static int bury(struct fs *fs, const struct move *move, struct victim *victim)
{
    int r = disk_call(fs_home(fs), rename, move->to_dir, move->new_name, fs->volume->todo, victim->todo, 0);

    if (r < 0)
        return r;
    victim->lies = victim->todo;
    if (victim->inode != NULL && atomic_exchange(&victim->inode->has_spare, false))
        (void) disk_call(fs_home(fs), unlink, fs->volume->todo, victim->waiting, 0); /* else the next mount does it */
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

/* Moves the names that an NFS client keeps for removed files out of a directory, to tmp/; -ENOTEMPTY: it has none. */
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
        reaper_wait(fs->reaper); /* what was removed before makes room in todo/ */
        r = remove_name(fs, &move, flags);
    }
    tree_see_time(fs, move.to_dir);
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

/* Syncs a file that is about to replace another: who does that expects the old bytes or the new after a crash, also
 * without an fsync. */
static int sync_moved(struct fs *fs, struct inode *moved)
{
    struct file *file;
    bool unsynced;
    int r = file_get(fs, moved, &file);

    if (file_is_lost(r))
        return 0; /* a lost file can be renamed all the same */
    if (r < 0)
        return r;
    mutex_lock(&file->meta);
    unsynced = file->record.durable_size != file->record.size || !bits_none(&file->now->dirty);
    mutex_unlock(&file->meta);
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
        victim->has_bytes = false; /* the next mount removes them, as the file is listed as waiting */
    return 0;
}

/* Renames while no other name changes, and tells the table of inodes; other is what stood at the new place, in an
 * exchange. */
static int rename_named(struct fs *fs, const struct move *move, struct victim *victim, struct inode *moved,
                        struct inode *other, mode_t fmt, mode_t other_fmt)
{
    cleanup(freep) char *name = strdup(move->name), *new_name = strdup(move->new_name);
    int r;

    if (name == NULL || new_name == NULL)
        return -ENOMEM;
    inodes_naming_begin(fs->inodes);
    census_note_move(fs->volume, fs->layouts, move->from_dir, move->name, fmt);
    if ((move->flags & RENAME_EXCHANGE) != 0)
        census_note_move(fs->volume, fs->layouts, move->to_dir, move->new_name, other_fmt);
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
    struct stat from, to = { 0 };
    bool replaces;
    int r = disk_call(home, stat, move->from_dir, move->name, &from);

    if (r < 0)
        return r;
    r = disk_call(home, stat, move->to_dir, move->new_name, &to);
    if (r < 0 && r != -ENOENT)
        return r;
    if (r == 0 && (move->flags & RENAME_NOREPLACE) != 0)
        return -EEXIST;
    move->flags &= ~(unsigned) RENAME_NOREPLACE; /* NFS does not know it; our kernel lets nobody else in between */
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
        r = rename_named(fs, move, replaces ? &victim : NULL, moved, other, from.st_mode & S_IFMT, to.st_mode & S_IFMT);
        victim_done(fs, &victim);
        if (r == 0 && moved != NULL && S_ISREG(from.st_mode))
            copier_take(fs->copier, moved); /* the copy tells the path */
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
            reaper_wait(fs->reaper); /* what was removed before makes room on the home disk */
            r = rename_in(fs, &move);
        }
        tree_see_time(fs, move.from_dir);
        tree_see_time(fs, move.to_dir);
        inode_close(fs->inodes, new_parent);
    }
    inode_close(fs->inodes, parent);
    return r;
}
