/* SPDX-License-Identifier: MIT */
/* What inodes are called, and the paths that makes. */
#include "fs/core/stub/inode_parts.h"

#include <string.h>

/* -- names -- */

void inodes_naming_begin(struct inodes *inodes) ACQUIRE(inodes->naming)
{
    mutex_lock(&inodes->naming);
}

void inodes_naming_end(struct inodes *inodes) RELEASE(inodes->naming)
{
    mutex_unlock(&inodes->naming);
}

/* Gives an inode another name, and takes its memory over; the old name's memory and the hold on its parent go. */
static void set_name(struct inodes *inodes, struct inode *inode, struct inode *parent, char *name)
    REQUIRES(inodes->lock)
{
    struct inode *old = inode->parent;

    if (inode_may_lose_fd(inode))
        inode_fd_stays(inodes, inode);
    free(inode->name);
    inode->name = name;
    inode->parent = parent;
    if (parent != NULL)
        parent->n_refs++;
    if (inode_may_lose_fd(inode))
        inode_fd_may_go(inodes, inode);
    if (old != NULL) {
        assert(old->n_refs > 0);
        old->n_refs--;
        inodes_free_unheld(inodes, old);
    }
}

static bool is_named(const struct inode *inode, const struct inode *parent, const char *name)
{
    return inode->name != NULL && inode->parent == parent && strcmp(inode->name, name) == 0;
}

static int enter(struct inodes *inodes, struct inode *parent, const char *name, const struct stat *st,
                 struct inode **ret_inode)
{
    char *copy = strdup(name);
    struct inode *inode;

    if (copy == NULL)
        return -ENOMEM;
    mutex_lock(&inodes->lock);
    inode = inodes_by_ino(inodes, st->st_ino);
    if (inode != NULL && inode->fmt != (st->st_mode & S_IFMT)) {
        inodes_hash_out(inodes, inode); /* an NFS server has given the inode's number to another file */
        inode = NULL;
    }
    if (inode != NULL)
        inode->n_refs++;
    else
        inode = inodes_add(inodes, st);
    if (inode != NULL && inode != inodes->root && !is_named(inode, parent, name) &&
        (parent != NULL || inode->name == NULL)) /* a name of its own is better than one in todo/ */
        set_name(inodes, inode, parent, steal(copy));
    inodes_unlock(inodes);
    free(copy);
    if (inode == NULL)
        return -ENOMEM;
    *ret_inode = inode;
    return 0;
}

int inodes_enter(struct inodes *inodes, struct inode *parent, const char *name, const struct stat *st,
                 struct inode **ret_inode)
{
    return enter(inodes, parent, name, st, ret_inode);
}

int inodes_enter_todo(struct inodes *inodes, const char *name, const struct stat *st, struct inode **ret_inode)
{
    return enter(inodes, NULL, name, st, ret_inode);
}

bool inodes_has_told(struct inodes *inodes, const struct inode *parent, const char *name, uint64_t ino)
{
    const struct inode *inode;
    bool told;

    mutex_lock(&inodes->lock);
    inode = inodes_by_ino(inodes, ino);
    told = inode != NULL && inode->fmt == S_IFREG && inode->n_lookup > 0 && atomic_load(&inode->pages.is_told) &&
           is_named(inode, parent, name);
    inodes_unlock(inodes);
    return told;
}

void inode_renamed(struct inodes *inodes, struct inode *inode, struct inode *parent, char *name)
{
    mutex_lock(&inodes->lock);
    set_name(inodes, inode, parent, name);
    inode->name_is_new = true;
    inodes_unlock(inodes);
}

bool inode_is_named(struct inodes *inodes, struct inode *inode, const struct inode *parent, const char *name)
{
    bool named;

    mutex_lock(&inodes->lock);
    named = is_named(inode, parent, name);
    inodes_unlock(inodes);
    return named;
}

void inode_unnamed(struct inodes *inodes, struct inode *inode, const struct inode *parent, const char *name,
                   const char *todo)
{
    mutex_lock(&inodes->lock);
    if (is_named(inode, parent, name))
        set_name(inodes, inode, NULL, todo != NULL ? strdup(todo) : NULL);
    inodes_unlock(inodes);
}

void inode_buried(struct inodes *inodes, struct inode *inode, const struct stat *st, const char *todo)
{
    mutex_lock(&inodes->lock);
    if (inode->hashed)
        inodes_hash_out(inodes, inode); /* the number may soon be another file's */
    inode->gone = true;
    set_name(inodes, inode, NULL, todo != NULL ? strdup(todo) : NULL);
    if (inode->fd < 0 && inode->last == NULL && inode->fmt != S_IFREG)
        inode->last = malloc(sizeof *st);
    if (inode->last != NULL)
        *inode->last = *st;
    inodes_unlock(inodes);
}

int inode_last_stat(struct inodes *inodes, struct inode *inode, struct stat *ret_stat)
{
    int r = -ESTALE;

    mutex_lock(&inodes->lock);
    if (inode->last != NULL) {
        *ret_stat = *inode->last;
        r = 0;
    }
    inodes_unlock(inodes);
    return r;
}

bool inode_is_gone(struct inodes *inodes, struct inode *inode)
{
    bool gone;

    mutex_lock(&inodes->lock);
    gone = inode->gone;
    inodes_unlock(inodes);
    return gone;
}

/* -- paths -- */

struct inode *inode_parent(struct inodes *inodes, struct inode *inode)
{
    struct inode *parent;

    mutex_lock(&inodes->lock);
    parent = inode->parent;
    if (parent != NULL)
        parent->n_refs++;
    inodes_unlock(inodes);
    return parent;
}

/* How long the path is, slashes in front of all names included; 0 when the names do not lead to the root. */
static size_t path_len(const struct inodes *inodes, const struct inode *inode) REQUIRES(inodes->lock)
{
    size_t len = 0;

    while (inode != inodes->root && inode->parent != NULL) {
        len += strlen(inode->name) + 1;
        inode = inode->parent;
    }
    return inode == inodes->root ? len : 0;
}

int inode_path(struct inodes *inodes, struct inode *inode, char **ret_path)
{
    size_t len;
    char *path;
    int r = -ESTALE;

    mutex_lock(&inodes->lock);
    len = path_len(inodes, inode);
    path = len > 0 ? malloc(len) : NULL;
    if (len > 0 && path == NULL)
        r = -ENOMEM;
    if (path != NULL) {
        size_t at = len - 1;

        path[at] = 0;
        for (; inode != inodes->root; inode = inode->parent) {
            size_t n = strlen(inode->name);

            at -= n;
            memcpy(path + at, inode->name, n);
            if (at > 0)
                path[--at] = '/';
        }
        *ret_path = path;
        r = 0;
    }
    inodes_unlock(inodes);
    return r;
}

void inode_name_is_new(struct inodes *inodes, struct inode *inode)
{
    mutex_lock(&inodes->lock);
    inode->name_is_new = true;
    inodes_unlock(inodes);
}

bool inode_take_new_name(struct inodes *inodes, struct inode *inode, struct inode **ret_parent)
{
    bool is_new;

    mutex_lock(&inodes->lock);
    is_new = inode->name_is_new && inode->parent != NULL;
    inode->name_is_new = false;
    if (is_new) {
        *ret_parent = inode->parent;
        inode->parent->n_refs++;
    }
    inodes_unlock(inodes);
    return is_new;
}
