/* SPDX-License-Identifier: MIT */
#include "fs/core/journal.h"

#include "fs/core/walk.h"

#include <fcntl.h>
#include <string.h>

#define SUFFIX ".g"

void journal_name(const struct record *record, char ret_name[static REAP_NAME])
{
    reap_name(record, false, ret_name);
    memcpy(ret_name + 2 * ID_SIZE, SUFFIX, sizeof SUFFIX);
}

bool journal_is_name(const char *name)
{
    return strlen(name) == 2 * ID_SIZE + sizeof SUFFIX - 1 && strcmp(name + 2 * ID_SIZE, SUFFIX) == 0;
}

/* -- while mounted -- */

static int link_stub(struct fs *fs, struct inode *inode, const char *name)
{
    int fd, r = inode_open(fs->inodes, inode, &fd);

    if (r < 0)
        return r;
    r = disk_call(fs_home(fs), link, fd, "", fs->volume->todo, name);
    inode_close(fs->inodes, inode);
    return r == -EEXIST ? 0 : r;
}

int journal_add(struct fs *fs, struct file *file)
{
    struct inode *inode = file->inode;
    char name[REAP_NAME];
    int r;

    journal_name(&file->record, name);
    pthread_mutex_lock(&inode->lock); /* who takes a name away counts those that are left */
    r = inode_is_gone(fs->inodes, inode) ? -ENOENT : link_stub(fs, inode, name);
    if (r == 0)
        atomic_store(&inode->is_listed, true);
    pthread_mutex_unlock(&inode->lock);
    return r < 0 ? r : disk_call(fs_home(fs), sync, fs->volume->todo, SYNC_ALL);
}

int journal_drop(struct fs *fs, struct inode *inode, const struct record *record)
{
    char name[REAP_NAME];
    int r;

    journal_name(record, name);
    pthread_mutex_lock(&inode->lock);
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
    pthread_mutex_unlock(&inode->lock);
    return r;
}

/* -- after a crash -- */

nlink_t journal_links_in_todo(struct fs *fs, const char *name)
{
    static const char *const suffix[] = { "", ".w", SUFFIX };
    uint8_t id[ID_SIZE];
    nlink_t n = 0;

    if (strlen(name) < 2 * ID_SIZE || hex_parse(name, ID_SIZE, id) < 0)
        return 1;
    for (size_t i = 0; i < ARRAY_SIZE(suffix); i++) {
        char other[REAP_NAME];
        struct stat st;

        memcpy(other, name, 2 * ID_SIZE);
        memcpy(other + 2 * ID_SIZE, suffix[i], strlen(suffix[i]) + 1);
        n += disk_call(fs_home(fs), stat, fs->volume->todo, other, &st) == 0;
    }
    return n;
}

/* One that has no other name at all goes the way of files that lose their last one. */
static int forget_if_gone(struct fs *fs, const struct walk_entry *entry)
{
    nlink_t in_todo = journal_links_in_todo(fs, entry->name);
    char plain[REAP_NAME];
    int todo = fs->volume->todo;

    if (entry->st.st_nlink > in_todo)
        return 0;
    if (in_todo > 1)
        return disk_call(fs_home(fs), unlink, todo, entry->name, 0);
    memcpy(plain, entry->name, 2 * ID_SIZE);
    plain[2 * ID_SIZE] = 0;
    return disk_call(fs_home(fs), rename, todo, entry->name, todo, plain, 0);
}

static int each(struct fs *fs, int (*act)(struct fs *fs, const struct walk_entry *entry, void *arg), void *arg)
{
    cleanup(walk_freep) struct walk *walk = NULL;
    struct walk_entry entry;
    int r = walk_new(fs_home(fs), fs->volume->todo, &walk), more = 0;

    while (r == 0 && (more = walk_next(walk, &entry)) > 0) {
        if (entry.leaving)
            return entry.error;
        walk_skip(walk);
        if (entry.error == 0 && journal_is_name(entry.name) && S_ISREG(entry.st.st_mode))
            r = act(fs, &entry, arg);
    }
    return r < 0 ? r : more;
}

static int act_forget(struct fs *fs, const struct walk_entry *entry, void *arg)
{
    (void) arg;
    return forget_if_gone(fs, entry);
}

int journal_forget_gone(struct fs *fs)
{
    return each(fs, act_forget, NULL);
}

struct visit {
    int (*take)(void *arg, struct inode *inode);
    void *arg;
};

static int act_visit(struct fs *fs, const struct walk_entry *entry, void *arg)
{
    const struct visit *visit = arg;
    struct inode *inode;
    int r = inodes_enter_todo(fs->inodes, entry->name, &entry->st, &inode);

    if (r < 0)
        return r;
    atomic_store(&inode->is_listed, true);
    return visit->take(visit->arg, inode);
}

int journal_visit(struct fs *fs, int (*take)(void *arg, struct inode *inode), void *arg)
{
    struct visit visit = { take, arg };

    return each(fs, act_visit, &visit);
}
