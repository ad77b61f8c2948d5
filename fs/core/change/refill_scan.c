/* SPDX-License-Identifier: MIT */
#include "fs/core/change/refill_scan.h"

#include "fs/core/disk/walk.h"
#include "fs/core/file/replicas.h"
#include "fs/core/stub/stub.h"
#include "fs/core/tree/tree.h"

#include <fcntl.h>
#include <string.h>

#define MARK "refill"

void refill_scan_note(const struct fs *fs, bool is_due)
{
    const struct disk *home = fs_home(fs);
    int fd;

    if (!is_due) {
        (void) disk_ask(home, unlink, home->root, MARK, 0);
        return;
    }
    fd = disk_call(home, open, home->root, MARK, O_WRONLY | O_CREAT, 0600);
    disk_close(home, &fd);
}

bool refill_scan_is_due(struct fs *fs)
{
    const struct disk *home = fs_home(fs);
    struct stat st;

    if (fs->read_only || !volume_has_replicas(fs->volume))
        return false;
    if (disk_ask(home, stat, home->root, MARK, &st) == 0)
        return true;
    if (volume_last_ended_well(fs->volume))
        return false;
    refill_scan_note(fs, true);
    return true;
}

/* Follows a path from the root. NULL: it is not there any more. */
static struct inode *look_up(struct fs *fs, const char *path)
{
    cleanup(freep) char *names = strdup(path);
    struct inode *inode = inodes_root(fs->inodes), *next;
    char *rest = names, *name;
    struct stat st;

    inode_ref(fs->inodes, inode);
    while (inode != NULL && rest != NULL && (name = strsep(&rest, "/")) != NULL) {
        bool is_there = tree_lookup(fs, inode, name, &next, &st) == 0;

        inode_unref(fs->inodes, inode);
        inode = is_there ? next : NULL;
    }
    if (names == NULL && inode != NULL)
        inode_unref(fs->inodes, inode);
    return names != NULL ? inode : NULL;
}

/* Whether a stub is that of a file whose replicas lack something. */
static bool lacks(struct fs *fs, const struct walk_entry *entry)
{
    struct record record;

    return entry->error == 0 && !entry->leaving && S_ISREG(entry->st.st_mode) &&
           stub_read_record(fs->volume, entry->dir, entry->name, &record) == 0 && replicas_lack(fs, &record);
}

bool refill_scan(struct fs *fs, bool (*found)(void *arg, struct inode *inode), void *arg)
{
    cleanup(walk_freep) struct walk *walk = NULL;
    struct walk_entry entry;
    bool go_on = true;
    int r = walk_new(fs_home(fs), fs->volume->ns, &walk);

    while (r == 0 && go_on && (r = walk_next(walk, &entry)) > 0) {
        struct inode *inode = lacks(fs, &entry) ? look_up(fs, entry.path) : NULL;

        r = 0;
        if (inode == NULL)
            continue;
        go_on = found(arg, inode);
        inode_unref(fs->inodes, inode);
    }
    return r == 0 && go_on;
}
