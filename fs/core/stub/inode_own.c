/* SPDX-License-Identifier: MIT */
/* Layouts that directories have for what is made below them. */
#include "fs/core/stub/inode_parts.h"

static void set_own(struct inodes *inodes, struct inode *dir, struct want *own, bool is_known)
{
    struct want *before;

    mutex_lock(&inodes->lock);
    before = dir->own;
    dir->own = own;
    dir->knows_own = is_known;
    inodes_unlock(inodes);
    want_put(before);
}

void inode_know_own(struct inodes *inodes, struct inode *dir, struct want *own)
{
    set_own(inodes, dir, own, true);
}

void inode_forget_own(struct inodes *inodes, struct inode *dir)
{
    set_own(inodes, dir, NULL, false);
}

void inode_is_new_dir(struct inodes *inodes, struct inode *dir)
{
    mutex_lock(&inodes->lock);
    dir->knows_own = true; /* own is NULL, or what somebody has given the directory already */
    inodes_unlock(inodes);
}

struct inode *inode_nearest_own(struct inodes *inodes, struct inode *dir, struct want **ret_own)
{
    *ret_own = NULL;
    mutex_lock(&inodes->lock);
    while (dir != NULL && dir->knows_own && dir->own == NULL)
        dir = dir->parent;
    if (dir != NULL) {
        dir->n_refs++;
        if (dir->knows_own)
            *ret_own = want_ref(dir->own);
    }
    inodes_unlock(inodes);
    return dir;
}
