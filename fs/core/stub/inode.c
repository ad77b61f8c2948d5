/* SPDX-License-Identifier: MIT */
#include "fs/core/stub/inode_parts.h"

#include <string.h>

#define FIRST_SLOTS     256
#define LAST_GENERATION (UINT32_MAX >> 1) /* nodeids with the highest bit set are not inodes' */

/* Descriptors are closed after the lock was given up: closing the last one of a removed file takes its disk some time,
 * for which nobody else shall wait. */
void inodes_unlock(struct inodes *inodes)
{
    int closing[INODES_CLOSING];
    uint32_t n = inodes->n_closing;

    memcpy(closing, inodes->closing, n * sizeof closing[0]);
    inodes->n_closing = 0;
    mutex_unlock(&inodes->lock);
    for (uint32_t i = 0; i < n; i++)
        disk_close(inodes_home(inodes), &closing[i]);
}

/* -- table -- */

static struct inode **bucket_of(struct inodes *inodes, uint64_t ino)
{
    return &inodes->bucket[(ino * UINT64_C(0x9e3779b97f4a7c15) >> 32) % inodes->n_slots];
}

void inodes_hash_in(struct inodes *inodes, struct inode *inode)
{
    struct inode **bucket = bucket_of(inodes, inode->ino);

    inode->hash_next = *bucket;
    inode->hashed = true;
    *bucket = inode;
}

void inodes_hash_out(struct inodes *inodes, struct inode *inode)
{
    for (struct inode **at = bucket_of(inodes, inode->ino); *at != NULL; at = &(*at)->hash_next)
        if (*at == inode) {
            *at = inode->hash_next;
            inode->hashed = false;
            return;
        }
}

static int grow(struct inodes *inodes) REQUIRES(inodes->lock)
{
    uint32_t n = MAX(2 * inodes->n_slots, FIRST_SLOTS), old = inodes->n_slots;
    struct inode **slot = calloc(n, sizeof(struct inode *)), **bucket = calloc(n, sizeof(struct inode *));
    uint32_t *generation = calloc(n, sizeof *generation);

    if (slot == NULL || bucket == NULL || generation == NULL) {
        free(slot);
        free(bucket);
        free(generation);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < old; i++) {
        slot[i] = inodes->slot[i];
        generation[i] = inodes->generation[i];
    }
    free(inodes->slot);
    free(inodes->bucket);
    free(inodes->generation);
    inodes->slot = slot;
    inodes->bucket = bucket;
    inodes->generation = generation;
    inodes->n_slots = n;
    for (uint32_t i = 0; i < old; i++)
        if (slot[i] != NULL && slot[i]->hashed)
            inodes_hash_in(inodes, slot[i]);
    return 0;
}

/* Whether a slot has had all the nodeids that there are for it. None is given twice, so such a slot stays free. */
static bool is_worn(const struct inodes *inodes, uint32_t i)
{
    return inodes->generation[i] > LAST_GENERATION;
}

/* Finds a slot for an inode, and its nodeid with it. Slot 0 stays free: no inode has nodeid 0. */
static int take_slot(struct inodes *inodes, struct inode *inode) REQUIRES(inodes->lock)
{
    uint32_t i;

    if (4 * (uint64_t) (inodes->n_used + 1) >= 3 * (uint64_t) inodes->n_slots) {
        int r = grow(inodes);

        if (r < 0)
            return r;
    }
    i = MAX(inodes->next_free, 1);
    while (inodes->slot[i] != NULL || is_worn(inodes, i))
        i = i + 1 < inodes->n_slots ? i + 1 : 1;
    inodes->slot[i] = inode;
    inodes->n_used++;
    inodes->next_free = i + 1 < inodes->n_slots ? i + 1 : 1;
    inode->nodeid = (uint64_t) inodes->generation[i]++ << 32 | i;
    return 0;
}

struct inode *inodes_add(struct inodes *inodes, const struct stat *st)
{
    struct inode *inode = calloc(1, sizeof *inode);

    if (inode == NULL)
        return NULL;
    inode->ino = st->st_ino;
    inode->fmt = st->st_mode & S_IFMT;
    inode->fd = -1;
    inode->n_refs = 1;
    inode->name_is_new = true; /* nobody knows whether the name was ever synced */
    if (take_slot(inodes, inode) < 0) {
        free(inode);
        return NULL;
    }
    mutex_init(&inode->lock);
    inodes_hash_in(inodes, inode);
    return inode;
}

struct inode *inodes_by_ino(struct inodes *inodes, uint64_t ino)
{
    struct inode *inode = *bucket_of(inodes, ino);

    while (inode != NULL && inode->ino != ino)
        inode = inode->hash_next;
    return inode;
}

/* -- references -- */

static void free_inode(struct inode *inode)
{
    mutex_done(&inode->lock);
    free(inode->last);
    free(inode->end.grave);
    free(inode->name);
    free(inode);
}

void inodes_free_unheld(struct inodes *inodes, struct inode *inode)
{
    while (inode != NULL && inode->n_lookup == 0 && inode->n_refs == 0) {
        struct inode *parent = inode->parent;

        inode_drop_fd(inodes, inode);
        if (inode->hashed)
            inodes_hash_out(inodes, inode);
        inodes->slot[(uint32_t) inode->nodeid] = NULL;
        inodes->n_used -= !is_worn(inodes, (uint32_t) inode->nodeid);
        want_put(inode_take_own(inodes, inode));
        free_inode(inode);
        if (parent != NULL)
            parent->n_refs--;
        inode = parent;
    }
}

void inode_ref(struct inodes *inodes, struct inode *inode)
{
    mutex_lock(&inodes->lock);
    inode->n_refs++;
    inodes_unlock(inodes);
}

void inode_unref(struct inodes *inodes, struct inode *inode)
{
    if (inode == NULL)
        return;
    mutex_lock(&inodes->lock);
    assert(inode->n_refs > 0);
    inode->n_refs--;
    inodes_free_unheld(inodes, inode);
    inodes_unlock(inodes);
}

void inode_looked_up(struct inodes *inodes, struct inode *inode)
{
    mutex_lock(&inodes->lock);
    inode->n_lookup++;
    inodes_unlock(inodes);
}

void inode_forget(struct inodes *inodes, struct inode *inode, uint64_t n)
{
    mutex_lock(&inodes->lock);
    inode->n_lookup -= MIN(n, inode->n_lookup);
    inodes_free_unheld(inodes, inode);
    inodes_unlock(inodes);
}

bool inode_is_known(struct inodes *inodes, struct inode *inode)
{
    bool known;

    mutex_lock(&inodes->lock);
    known = inode->n_lookup > 0;
    inodes_unlock(inodes);
    return known;
}

struct inode *inodes_root(struct inodes *inodes)
{
    return inodes->root;
}

struct inode *inodes_find(struct inodes *inodes, uint64_t nodeid)
{
    struct inode *inode;

    mutex_lock(&inodes->lock);
    inode = (uint32_t) nodeid < inodes->n_slots ? inodes->slot[(uint32_t) nodeid] : NULL;
    if (inode != NULL && inode->nodeid != nodeid)
        inode = NULL;
    if (inode != NULL)
        inode->n_refs++;
    inodes_unlock(inodes);
    return inode;
}

struct inode *inodes_find_ino(struct inodes *inodes, uint64_t ino)
{
    struct inode *inode;

    mutex_lock(&inodes->lock);
    inode = inodes_by_ino(inodes, ino);
    if (inode != NULL)
        inode->n_refs++;
    inodes_unlock(inodes);
    return inode;
}

/* -- life -- */

int inodes_new(struct volume *volume, uint32_t max_fds, struct inodes **ret_inodes)
{
    struct inodes *inodes = calloc(1, sizeof *inodes);
    struct stat st;
    int r = inodes == NULL ? -ENOMEM : disk_call(volume_home(volume), stat, volume->ns, "", &st);

    if (r == 0) {
        inodes->volume = volume;
        inodes->max_fds = MAX(max_fds, 16);
        mutex_init(&inodes->lock);
        cond_init(&inodes->unused);
        mutex_init_recursive(&inodes->naming);
        mutex_lock(&inodes->lock);
        inodes->root = grow(inodes) == 0 ? inodes_add(inodes, &st) : NULL;
        mutex_unlock(&inodes->lock);
        r = inodes->root != NULL ? 0 : -ENOMEM;
    }
    if (r < 0) {
        if (inodes != NULL) {
            free(inodes->slot);
            free(inodes->bucket);
            free(inodes->generation);
        }
        free(inodes);
        return r;
    }
    inodes->root->fd = volume->ns;
    *ret_inodes = inodes;
    return 0;
}

void inodes_free(struct inodes *inodes)
{
    if (inodes == NULL)
        return;
    inodes->root->fd = -1;
    for (uint32_t i = 0; i < inodes->n_slots; i++) {
        struct inode *inode = inodes->slot[i];

        if (inode == NULL)
            continue;
        if (inode->fd >= 0)
            disk_close(inodes_home(inodes), &inode->fd);
        want_put(inode->own);
        free_inode(inode);
    }
    free(inodes->slot);
    free(inodes->bucket);
    free(inodes->generation);
    mutex_done(&inodes->naming);
    cond_done(&inodes->unused);
    mutex_done(&inodes->lock);
    free(inodes);
}

void inodes_visit(struct inodes *inodes, void (*visit)(void *arg, struct inode *inode), void *arg)
{
    for (uint32_t i = 1;; i++) {
        struct inode *inode = NULL;
        bool end;

        mutex_lock(&inodes->lock);
        end = i >= inodes->n_slots;
        if (!end && (inode = inodes->slot[i]) != NULL)
            inode->n_refs++;
        inodes_unlock(inodes);
        if (end)
            return;
        if (inode == NULL)
            continue;
        visit(arg, inode);
        inode_unref(inodes, inode);
    }
}
