/* SPDX-License-Identifier: MIT */
#include "fs/daemon/trace/scopes.h"

struct scopes *scopes_new(void)
{
    struct scopes *scopes = calloc(1, sizeof *scopes);

    if (scopes == NULL)
        return NULL;
    mutex_init(&scopes->lock);
    atomic_init(&scopes->generation, 1);
    return scopes;
}

void scopes_free(struct scopes *scopes)
{
    if (scopes == NULL)
        return;
    mutex_done(&scopes->lock);
    free(scopes);
}

void scopes_changed(struct scopes *scopes)
{
    unsigned was = atomic_load(&scopes->generation);

    while (!atomic_compare_exchange_weak(&scopes->generation, &was, was % SCOPES_GENERATIONS + 1))
        ;
}

static struct scope *find_same(struct scopes *scopes, const struct scope *like) REQUIRES(scopes->lock)
{
    for (uint32_t i = 0; i < scopes->n; i++)
        if (scopes->scope[i].ino == like->ino && scopes->scope[i].uid == like->uid)
            return &scopes->scope[i];
    return NULL;
}

/* A place for another scope of that user, who may have so many; what ordinary users have leaves half of all to
 * administrators. NULL: there is none. */
static struct scope *place_for(struct scopes *scopes, const struct scope *like) REQUIRES(scopes->lock)
{
    uint32_t n_his = 0, n_users = 0;

    for (uint32_t i = 0; i < scopes->n; i++) {
        n_his += scopes->scope[i].uid == like->uid;
        n_users += !scopes->scope[i].is_admin;
    }
    if (like->is_admin ? scopes->n - n_users == SCOPES_MAX / 2 : n_his == SCOPES_MAX_USER || n_users == SCOPES_MAX / 2)
        return NULL;
    return &scopes->scope[scopes->n++];
}

int scopes_add(struct scopes *scopes, const struct scope *scope)
{
    struct scope *place;

    mutex_lock(&scopes->lock);
    place = find_same(scopes, scope);
    if (place == NULL)
        place = place_for(scopes, scope);
    if (place != NULL)
        *place = *scope;
    mutex_unlock(&scopes->lock);
    scopes_changed(scopes);
    return place != NULL ? 0 : -EUSERS;
}

uint32_t scopes_remove(struct scopes *scopes, uint64_t ino, uid_t uid, bool is_admin)
{
    uint32_t n = 0;

    mutex_lock(&scopes->lock);
    for (uint32_t i = 0; i < scopes->n; i++) {
        const struct scope *scope = &scopes->scope[i];

        if ((ino == 0 || scope->ino == ino) && (is_admin || scope->uid == uid))
            n++;
        else
            scopes->scope[i - n] = *scope;
    }
    scopes->n -= n;
    mutex_unlock(&scopes->lock);
    if (n > 0)
        scopes_changed(scopes);
    return n;
}

bool scopes_has(struct scopes *scopes, uint64_t ino, uid_t uid, bool is_admin)
{
    bool has = false;

    mutex_lock(&scopes->lock);
    for (uint32_t i = 0; i < scopes->n; i++)
        has |= scopes->scope[i].ino == ino && (is_admin || scopes->scope[i].uid == uid);
    mutex_unlock(&scopes->lock);
    return has;
}

bool scopes_are_none(struct scopes *scopes)
{
    bool are_none;

    mutex_lock(&scopes->lock);
    are_none = scopes->n == 0;
    mutex_unlock(&scopes->lock);
    return are_none;
}

bool scopes_are_none_for(struct scopes *scopes, uid_t uid)
{
    bool are_none = true;

    mutex_lock(&scopes->lock);
    for (uint32_t i = 0; i < scopes->n; i++)
        are_none &= scopes->scope[i].uid != uid && !scopes->scope[i].is_admin;
    mutex_unlock(&scopes->lock);
    return are_none;
}

/* What two cover together. */
static struct covered both(struct covered a, struct covered b)
{
    if (a.bits == 0 || b.bits == 0)
        return a.bits == 0 ? b : a;
    return (struct covered){ .bits = a.bits | b.bits, .sample = MIN(a.sample, b.sample) };
}

static struct covered covered_by(const struct scope *scope)
{
    struct covered by = { .bits = COVERED, .sample = scope->sample };

    if (scope->every)
        by.bits |= scope->is_admin ? COVERED_EVERY_OPEN : COVERED_OWN_OPENS;
    return by;
}

struct covered scopes_look(struct scopes *scopes, uint64_t ino, uid_t owner)
{
    struct covered found = { 0 };

    mutex_lock(&scopes->lock);
    for (uint32_t i = 0; i < scopes->n; i++) {
        const struct scope *scope = &scopes->scope[i];

        if (scope->ino == ino && (scope->is_admin || scope->uid == owner))
            found = both(found, covered_by(scope));
    }
    mutex_unlock(&scopes->lock);
    return found;
}

static struct covered look(struct scopes *scopes, const struct inode *inode, uid_t owner, uint64_t *ino)
{
    struct covered found = scopes_look(scopes, inode->ino, owner);

    if (found.bits != 0)
        *ino = inode->ino;
    return found;
}

struct covered scopes_cover(struct scopes *scopes, struct inodes *inodes, struct inode *inode, uid_t owner,
                            uint64_t *ret_ino)
{
    uint64_t ino = 0;
    struct covered found = look(scopes, inode, owner, &ino);
    struct inode *above = inode_parent(inodes, inode);

    while (above != NULL) {
        struct inode *next = inode_parent(inodes, above);

        found = both(found, look(scopes, above, owner, &ino));
        inode_unref(inodes, above);
        above = next;
    }
    found = both(found, look(scopes, inodes_root(inodes), owner, &ino));
    *ret_ino = ino;
    return found;
}

uint32_t scopes_n_open(struct scopes *scopes, const struct inode *inode, uid_t uid)
{
    uint32_t n = 0;

    mutex_lock(&scopes->lock);
    for (uint32_t i = 0; i < scopes->n; i++) {
        const struct scope *scope = &scopes->scope[i];

        if (scope->ino == inode->ino && (scope->uid == uid || scope->is_admin))
            n = MAX(n, scope->n_open);
    }
    mutex_unlock(&scopes->lock);
    return n;
}
