/* SPDX-License-Identifier: MIT */
/* Layouts that directories have for what is made below them. A short text may mean much memory, so those that were not
 * asked for lately are forgotten: the directory's attribute has the text.
 *
 *     coldest  /runs/1  <──>  /runs/7  <──>  /home/ann  warmest       each with its want */
#include "fs/core/stub/inode_parts.h"

static void link_warmest(struct inodes *inodes, struct inode *dir) REQUIRES(inodes->lock)
{
    dir->colder = inodes->warmest;
    *(inodes->warmest != NULL ? &inodes->warmest->warmer : &inodes->coldest) = dir;
    inodes->warmest = dir;
}

static void unlink_own(struct inodes *inodes, struct inode *dir) REQUIRES(inodes->lock)
{
    *(dir->colder != NULL ? &dir->colder->warmer : &inodes->coldest) = dir->warmer;
    *(dir->warmer != NULL ? &dir->warmer->colder : &inodes->warmest) = dir->colder;
    dir->colder = dir->warmer = NULL;
}

struct want *inode_take_own(struct inodes *inodes, struct inode *inode)
{
    if (inode->own == NULL)
        return NULL;
    unlink_own(inodes, inode);
    inodes->own_bytes -= inode->own_bytes;
    inode->own_bytes = 0;
    return steal(inode->own);
}

/* Counts what a directory's own layout takes now: another meaning may take more. */
static void count_own(struct inodes *inodes, struct inode *dir) REQUIRES(inodes->lock)
{
    inodes->own_bytes -= dir->own_bytes;
    dir->own_bytes = want_bytes(dir->own);
    inodes->own_bytes += dir->own_bytes;
}

/* Forgets one when all together take too much, but not the warmest. Returns its want, for the caller to let go of. */
static struct want *forget_coldest(struct inodes *inodes) REQUIRES(inodes->lock)
{
    struct inode *dir = inodes->coldest;

    if (inodes->own_bytes <= INODES_OWN_BYTES || dir == inodes->warmest)
        return NULL;
    dir->knows_own = false;
    return inode_take_own(inodes, dir);
}

/* Gives up inodes->lock, and then lets go of wants, since that may wait for other locks. */
static void unlock_and_forget(struct inodes *inodes) RELEASE(inodes->lock)
{
    struct want *cold = forget_coldest(inodes);

    while (cold != NULL) {
        inodes_unlock(inodes);
        want_put(cold);
        mutex_lock(&inodes->lock);
        cold = forget_coldest(inodes);
    }
    inodes_unlock(inodes);
}

static void set_own(struct inodes *inodes, struct inode *dir, struct want *own, bool is_known)
{
    struct want *before;

    mutex_lock(&inodes->lock);
    before = inode_take_own(inodes, dir);
    dir->knows_own = is_known;
    dir->own = own;
    if (own != NULL) {
        dir->had_own = true;
        link_warmest(inodes, dir);
        count_own(inodes, dir);
    }
    unlock_and_forget(inodes);
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
    dir->knows_own |= !dir->had_own; /* else somebody has given it one already, which may be forgotten by now */
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
        if (dir->knows_own) {
            *ret_own = want_ref(dir->own);
            unlink_own(inodes, dir);
            link_warmest(inodes, dir);
            count_own(inodes, dir);
        }
    }
    unlock_and_forget(inodes);
    return dir;
}
