/* SPDX-License-Identifier: MIT */
/* Goes through a tree of names on a disk, deepest last, without following symlinks and without recursion.
 *
 *     d/          entered, before what is in it
 *     d/a         every name once
 *     d/          left, after it
 *
 * It ends on any tree: what lies too deep, or cannot be read, comes with an error in place of what is below it. */
#ifndef FALLSFS_FS_CORE_WALK_H
#define FALLSFS_FS_CORE_WALK_H

#include "fs/core/disk.h"

#define WALK_MAX_DEPTH 2048 /* each level holds a descriptor */

struct walk_entry {
    int dir;          /* the directory it is in */
    const char *name; /* there */
    const char *path; /* from where the walk began */
    uint32_t depth;   /* of dir; 0 where the walk began */
    bool leaving;     /* of directories: the second time */
    int error;        /* -errno; of a name, or of a directory, which is then not gone into */
    struct stat st;
};

struct walk;

/* dir stays the caller's. */
int walk_new(const struct disk *disk, int dir, struct walk **ret_walk);
void walk_free(struct walk *walk);
void walk_freep(struct walk **walk);

/* 1 and an entry, good until the next call; 0 at the end; -ENOMEM. */
int walk_next(struct walk *walk, struct walk_entry *ret_entry);

/* Does not go into the directory that was entered last. */
void walk_skip(struct walk *walk);

#endif
