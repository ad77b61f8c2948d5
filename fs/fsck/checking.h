/* SPDX-License-Identifier: MIT */
/* A check under way: what its parts share.
 *
 *     check.c          the order of things
 *     checking.c       findings
 *     check_names.c    ns/ and todo/: names, and what they lead to
 *     check_stub.c     a file whose record is valid: its subfiles
 *     check_replicas.c its replicas, and what these can give back: bring_back.c
 *     settle.c         what a crash left undecided of a file
 *     check_damaged.c  stubs without a valid record
 *     check_objects.c  obj/: what nobody owns
 *     orphans.c        which of it may be removed, also in lost/
 *     check_layouts.c  layout/: the texts
 *     check_texts.c    what the home disk keeps with directories and files
 *     check_costs.c    what was measured of disks */
#ifndef FALLSFS_FS_FSCK_CHECKING_H
#define FALLSFS_FS_FSCK_CHECKING_H

#include "fs/core/disk/walk.h"
#include "fs/fsck/finding.h"
#include "fs/fsck/ids.h"

/* A stub without a valid record. */
struct damaged {
    char *path;
    ino_t ino;
    bool done;
};

/* What is known of objects that no stub tells of. */
struct orphans {
    bool may_go;               /* those that nobody needs may be removed */
    struct nameless *nameless; /* files that lost their names, by id */
    size_t n;
};

struct checking {
    struct check *check;
    struct volume *volume;
    struct layouts *layouts;
    struct ids ids;
    struct damaged *damaged;
    size_t n_damaged;
    bool keep_orphans; /* a file may own them whose id is not known */
    bool is_synced;    /* what was written before the check is on the disks */
    struct orphans orphans;
};

/* Where a finding is. */
struct spot {
    const char *path, *object;
    uint32_t disk;
};

#define NO_DISK UINT32_MAX

/* Tells of something that can be repaired. r is what the repair came to; without repair 0. */
PRINTF_LIKE(5, 6)
void checking_tell_fix(struct checking *checking, const char *kind, const struct spot *spot, int r, const char *fmt,
                       ...);
PRINTF_LIKE(4, 5)
void checking_tell_left(struct checking *checking, const char *kind, const struct spot *spot, const char *fmt, ...);

/* Tells of something that is as it may be. */
PRINTF_LIKE(4, 5)
void checking_tell_note(struct checking *checking, const char *kind, const struct spot *spot, const char *fmt, ...);

/* Moves something below .fallsfs to lost/ there, under a name that is free. */
int checking_put_aside(const struct disk *disk, const char *object);

/* Tells why an object does not belong where it is; with repair the object is put aside. */
void checking_tell_aside(struct checking *checking, const char *kind, const struct spot *spot, const char *why);

/* Cuts an object that is longer than len bytes, durably. One that is not there needs no cutting. */
int checking_cut(const struct disk *disk, const char *object, uint64_t len);

/* Finds the next name in the directory of walk. Directories in it are not gone into; what cannot be read is told. 1, 0
 * at the end, -ENOMEM. */
int checking_next(struct checking *checking, struct walk *walk, const struct spot *dir, struct walk_entry *ret_entry);

int check_todo(struct checking *checking);
int check_tmp(struct checking *checking);
int check_names(struct checking *checking);
int check_damaged(struct checking *checking);
int check_layouts(struct checking *checking);
int check_objects(struct checking *checking);

/* With repair, makes directories of objects that are missing, before what was in them is brought back. */
int check_directories_first(struct checking *checking);

int check_costs(struct checking *checking);

/* Checks what users have said of one file or directory; dir and name as disk.h has them. */
int check_texts(struct checking *checking, int dir, const char *name, const char *path);

/* -- of check_stub.c, for check_names.c and check_damaged.c -- */

/* Checks a stub whose record is valid and its subfiles, and notes it as their owner. */
int check_stub(struct checking *checking, const char *path, const struct stat *st, const struct record *record, int fd);

#endif
