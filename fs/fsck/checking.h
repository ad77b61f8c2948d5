/* SPDX-License-Identifier: MIT */
/* A check under way: what its parts share.
 *
 *     check.c          the order of things; findings
 *     check_names.c    ns/ and todo/: records and their subfiles
 *     check_damaged.c  stubs without a valid record
 *     check_objects.c  obj/: what nobody owns
 *     check_layouts.c  layout/: the texts
 *     check_texts.c    what the home disk keeps with directories and files */
#ifndef FALLSFS_FS_FSCK_CHECKING_H
#define FALLSFS_FS_FSCK_CHECKING_H

#include "fs/core/fs.h"
#include "fs/core/walk.h"
#include "fs/fsck/check.h"
#include "fs/fsck/ids.h"

/* A stub without a valid record. */
struct damaged {
    char *path;
    bool has_id; /* its bytes look like a record with this id */
    uint8_t id[ID_SIZE];
};

struct checking {
    struct check *check;
    struct volume *volume;
    struct fs fs; /* only volume and layouts are there: for calls that need no more */
    struct ids ids;
    struct damaged *damaged;
    size_t n_damaged;
    bool keep_orphans; /* a file may own them whose id is not known */
};

/* Where a finding is. */
struct spot {
    const char *path, *object;
    uint32_t disk;
};

#define NO_DISK UINT32_MAX

/* r is what a repair came to; without repair 0. */
PRINTF_LIKE(5, 6)
void checking_tell_fix(struct checking *checking, const char *kind, const struct spot *spot, int r, const char *fmt,
                       ...);
PRINTF_LIKE(4, 5)
void checking_tell_left(struct checking *checking, const char *kind, const struct spot *spot, const char *fmt, ...);

/* Moves something below .fallsfs to lost/ there, under a name that is free. */
int checking_put_aside(const struct disk *disk, const char *object);

/* Tells why an object does not belong where it is; repairing does the above with it. */
void checking_tell_aside(struct checking *checking, const char *kind, const struct spot *spot, const char *why);

/* The next name in a directory, which is that of walk; nothing in it is gone into, what cannot be read is told. 1, 0 at
 * the end, -ENOMEM. */
int checking_next(struct checking *checking, struct walk *walk, const struct spot *dir, struct walk_entry *ret_entry);

int check_todo(struct checking *checking);
int check_tmp(struct checking *checking);
int check_names(struct checking *checking);
int check_damaged(struct checking *checking);
int check_layouts(struct checking *checking);
int check_objects(struct checking *checking);

/* Of one name; dir and name as disk.h has them. */
int check_texts(struct checking *checking, int dir, const char *name, const char *path);

/* -- of check_names.c, for check_damaged.c -- */

/* A stub whose record is valid: its owner noted, its subfiles checked. */
int check_stub(struct checking *checking, const char *path, const struct stat *st, const struct record *record, int fd);

/* The record of the stub that fd stands for. */
int check_read_record(const struct checking *checking, int fd, struct record *ret_record);

#endif
