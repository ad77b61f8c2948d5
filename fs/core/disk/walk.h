/* SPDX-License-Identifier: MIT */
/* Goes through a tree of names on a disk, deepest last, without following symlinks and without recursion.
 *
 *     d/          entered, before what is in it
 *     d/a         every name once
 *     d/          left, after it
 *
 * It ends on any tree, however deep: what cannot be read, or is moved elsewhere meanwhile, comes with an error in place
 * of what is below it. */
#ifndef FALLSFS_FS_CORE_DISK_WALK_H
#define FALLSFS_FS_CORE_DISK_WALK_H

#include "fs/core/disk/disk.h"

struct walk_entry {
    int dir;          /* the directory it is in */
    const char *name; /* in dir */
    const char *path; /* from where the walk began */
    uint32_t depth;   /* of dir; 0 where the walk began */
    bool leaving;     /* of directories: it comes the second time, after what is in it */
    int error;        /* 0, or -errno: the name, or what is in the directory, cannot be read; see walk_lost_it */
    struct stat st;
};

/* The name was read and is not there any more: on a volume in use somebody removed or renamed it meanwhile. */
static inline bool walk_lost_it(const struct walk_entry *entry)
{
    return entry->error == -ENOENT;
}

struct walk;

/* Begins a walk at the directory dir, which stays the caller's. */
int walk_new(const struct disk *disk, int dir, struct walk **ret_walk);
void walk_free(struct walk *walk);
void walk_freep(struct walk **walk);

/* Goes on to the next entry, which is good until the next call: 1, or 0 at the end, or -ENOMEM. */
int walk_next(struct walk *walk, struct walk_entry *ret_entry);

/* Leaves out what is in the directory that was entered last. */
void walk_skip(struct walk *walk);

#endif
