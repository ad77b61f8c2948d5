/* SPDX-License-Identifier: MIT */
/* What is traced: a file, what is below a directory, all of the mount; who began it, and what he may see.
 *
 *     scope of run7, by user 1000          covers run7/a.dat and run7/x/b.dat, if they are user 1000's
 *     scope of run7, by an administrator   covers whatever is below run7
 *     scope of the root                    covers all, also what has no name any more
 *
 * A scope knows its file or directory by the stub's number, holds on to nothing, and ends with the last name. */
#ifndef FALLSFS_FS_DAEMON_TRACE_SCOPES_H
#define FALLSFS_FS_DAEMON_TRACE_SCOPES_H

#include "fs/core/fs.h"

#define SCOPES_MAX      256
#define SCOPES_MAX_USER 16

#define SCOPES_GENERATIONS ((1U << 24) - 1)

struct scope {
    uint64_t ino;
    uid_t uid;       /* who began it */
    bool is_admin;   /* and is root, or has mounted */
    bool every;      /* opens are past the kernel's cache */
    uint16_t sample; /* one of so many accesses is recorded; 1: all */
    uint32_t n_open; /* handles that were open already, through the cache */
};

struct scopes {
    struct mutex lock;
    struct scope scope[SCOPES_MAX]; /* lock */
    uint32_t n;                     /* lock */
    atomic_uint generation;         /* changes with what is covered; from 1 to SCOPES_GENERATIONS */
};

enum {
    COVERED = 1,
    COVERED_EVERY_OPEN = 2, /* whoever opens it does so past the kernel's cache */
    COVERED_OWN_OPENS = 4,  /* its owner does */
};

/* How a file is covered. */
struct covered {
    unsigned bits;
    uint16_t sample; /* one of so many of its accesses is recorded: of all that cover it, what records most; 0: none */
};

struct scopes *scopes_new(void);
void scopes_free(struct scopes *scopes);

/* Adds a scope, or replaces the one that the same user has there. -EUSERS: there are too many. */
int scopes_add(struct scopes *scopes, const struct scope *scope);

/* Removes the scopes that the user has begun, for an administrator those of anybody: with this number, or 0, all of
 * them. Returns how many that were. */
uint32_t scopes_remove(struct scopes *scopes, uint64_t ino, uid_t uid, bool is_admin);

/* Whether there is one with this number that scopes_remove would remove. */
bool scopes_has(struct scopes *scopes, uint64_t ino, uid_t uid, bool is_admin);

/* Whether nothing is traced; and nothing that the user sees, since he has begun it, or an administrator. */
bool scopes_are_none(struct scopes *scopes);
bool scopes_are_none_for(struct scopes *scopes, uid_t uid);

/* How a file of that owner, or directory, is covered: by scopes of it and of directories above it. ret_ino: of the
 * topmost of these, or 0. */
struct covered scopes_cover(struct scopes *scopes, struct inodes *inodes, struct inode *inode, uid_t owner,
                            uint64_t *ret_ino);

/* The same, of the scopes with that number alone: for a file that was covered by them, and has no name any more. */
struct covered scopes_look(struct scopes *scopes, uint64_t ino, uid_t owner);

/* How many handles were open already when the user's scope of this inode was begun, or an administrator's. */
uint32_t scopes_n_open(struct scopes *scopes, const struct inode *inode, uid_t uid);

/* What a file is covered by may have changed: answers of an older generation are not to be believed. */
void scopes_changed(struct scopes *scopes);

#endif
