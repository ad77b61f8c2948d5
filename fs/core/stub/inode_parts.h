/* SPDX-License-Identifier: MIT */
/* The table of inodes, for the sources that share it:
 *
 *     inode.c        which inodes are remembered, and who holds them
 *     inode_fd.c     their descriptors
 *     inode_name.c   what they are called, paths
 *     inode_own.c    layouts that directories have for what is made below them */
#ifndef FALLSFS_FS_CORE_STUB_INODE_PARTS_H
#define FALLSFS_FS_CORE_STUB_INODE_PARTS_H

#include "fs/core/stub/inode.h"

#define INODES_CLOSING 16

struct inodes {
    struct volume *volume;
    uint32_t max_fds;
    struct inode *root;
    struct mutex naming; /* recursive: opening a name opens its parent's */
    struct mutex lock;
    struct cond unused;  /* of lock; a descriptor is, or is withheld no longer */
    struct inode **slot; /* lock; by nodeid modulo 2^32; a free one is NULL */
    uint32_t *generation;
    uint32_t n_slots, n_used, next_free; /* lock */
    struct inode **bucket;               /* lock; by ino; as many as slots */
    struct inode *oldest, *newest;       /* lock; those with a descriptor that may be closed */
    uint32_t n_fds;                      /* lock */
    struct inode *coldest, *warmest;     /* lock; directories that have own, the one used last is the warmest */
    uint64_t own_bytes;                  /* lock; what they take for that */
    int closing[INODES_CLOSING];         /* lock; descriptors to be closed when it is given up */
    uint32_t n_closing;                  /* lock */
};

static inline const struct disk *inodes_home(const struct inodes *inodes)
{
    return volume_home(inodes->volume);
}

/* Gives up inodes->lock, and then closes the descriptors that were dropped under it. */
void inodes_unlock(struct inodes *inodes) RELEASE(inodes->lock);

/* Adds an inode for a stub with this number and type, with a reference for the caller. NULL without memory. */
struct inode *inodes_add(struct inodes *inodes, const struct stat *st) REQUIRES(inodes->lock);

/* The inode that is found by the stub's number; NULL when there is none. */
struct inode *inodes_by_ino(struct inodes *inodes, uint64_t ino) REQUIRES(inodes->lock);

/* Lets an inode be found by its number, and no longer. */
void inodes_hash_in(struct inodes *inodes, struct inode *inode) REQUIRES(inodes->lock);
void inodes_hash_out(struct inodes *inodes, struct inode *inode) REQUIRES(inodes->lock);

/* Frees the inode if nobody holds it, and then maybe its parent. */
void inodes_free_unheld(struct inodes *inodes, struct inode *inode) REQUIRES(inodes->lock);

/* Takes an inode's own layout away from it, for the caller; NULL: it has none. */
struct want *inode_take_own(struct inodes *inodes, struct inode *inode) REQUIRES(inodes->lock);

/* Whether the inode's descriptor may be closed to make room for others. Not while it is in use, nor where no name leads
 * to the inode: it could not be opened again. inodes->lock is held. */
bool inode_may_lose_fd(const struct inode *inode);

/* Puts the inode last among those whose descriptors may be closed, the least recently used first, or takes it out. */
void inode_fd_may_go(struct inodes *inodes, struct inode *inode) REQUIRES(inodes->lock);
void inode_fd_stays(struct inodes *inodes, struct inode *inode) REQUIRES(inodes->lock);

/* Closes the inode's descriptor, if it has one. */
void inode_drop_fd(struct inodes *inodes, struct inode *inode) REQUIRES(inodes->lock);

#endif
