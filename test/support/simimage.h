/* SPDX-License-Identifier: MIT */
/* What a simulated disk holds at one moment.
 *
 *     image ──> inode 1 (directory) ──> "a" 2, "b" 3
 *           ──> inode 2 (file)      ──> page 0, page 7, user.x=...
 *           ──> inode 3 (symlink)   ──> target
 *
 * An image is changed by simimage_apply alone, one change at a time: every change is applied once to what programs see,
 * and once more, if it survives, to what lies on the disk. Images share inodes, pages and names, and copy what one of
 * them is about to change; so another image costs one pointer an inode. Private to the simulated disk. */
#ifndef FALLSFS_TEST_SUPPORT_SIMIMAGE_H
#define FALLSFS_TEST_SUPPORT_SIMIMAGE_H

#include "layout/base.h"
#include "test/support/rng.h"

#include <stdatomic.h>
#include <sys/types.h>

#define SIM_PAGE     4096
#define SIM_SECTOR   512
#define SIM_ROOT_INO 1

/* Bytes that never change, shared by whoever needs them; a NUL follows the last one. */
struct sim_blob {
    atomic_uint refs;
    size_t len;
    char bytes[];
};

struct sim_page {
    atomic_uint refs;
    unsigned char bytes[SIM_PAGE];
};

/* page NULL: allocated, not written yet */
struct sim_slot {
    uint64_t index;
    struct sim_page *page;
};

/* The cookie is the place of a name in its directory for as long as it is there. */
struct sim_entry {
    uint64_t cookie;
    uint32_t ino;
    struct sim_blob *name;
};

struct sim_xattr {
    struct sim_blob *name, *value;
};

struct sim_attr {
    mode_t mode;
    uid_t uid;
    gid_t gid;
    dev_t rdev;
    int64_t atime, mtime, ctime; /* ns */
};

struct sim_inode {
    atomic_uint refs;
    uint32_t number; /* what stat shows; used again once the inode is gone, which ino, its index here, is not */
    struct sim_attr attr;
    uint32_t nlink;
    bool linkable;   /* made by O_TMPFILE, has never had a name */
    uint32_t parent; /* of a directory */
    uint64_t size;
    struct sim_blob *target;   /* of a symlink */
    struct sim_entry *entries; /* by cookie */
    struct sim_slot *slots;    /* by index */
    struct sim_xattr *xattrs;
    size_t n_entries, n_slots, n_xattrs, room_entries, room_slots;
};

struct sim_image {
    struct sim_inode **inodes; /* by ino; NULL: gone, or not here yet */
    uint32_t n_inodes;
    uint64_t used;        /* bytes */
    uint64_t cookie_seed; /* the order of directories */
};

enum sim_change_kind {
    SIM_CHANGE_MAKE,     /* ino, with attr; under name in dir, unless that is 0 */
    SIM_CHANGE_LINK,     /* name in dir for ino */
    SIM_CHANGE_UNLINK,   /* name in dir goes, ino loses a link */
    SIM_CHANGE_RENAME,   /* name in dir, ino, becomes to_name in to_dir, and other, if any, loses that link */
    SIM_CHANGE_EXCHANGE, /* both names change places */
    SIM_CHANGE_ATTR,
    SIM_CHANGE_XATTR, /* name; data NULL: removed */
    SIM_CHANGE_SIZE,
    SIM_CHANGE_SPACE, /* off, len, mode of fallocate */
    SIM_CHANGE_WRITE, /* data: whole sectors from off on, zeros behind the end of the file, which is at size or later */
    SIM_CHANGE_FREE,  /* ino, which nothing refers to any more */
};

struct sim_change {
    atomic_uint refs;
    enum sim_change_kind kind;
    uint32_t ino, other, number, dir, to_dir;
    struct sim_blob *name, *to_name, *data;
    struct sim_attr attr;
    uint64_t off, len, size;
    uint64_t end;     /* of what a write wrote */
    uint64_t edge[2]; /* of SIZE and SPACE: where they cut through a sector that was written; UINT64_MAX: they do not */
    int mode;
    int64_t stamp; /* ns */
};

/* Both give memory, or end the test. */
void *sim_alloc(size_t size);
void *sim_realloc(void *old, size_t size);

struct sim_blob *sim_blob_new(const void *bytes, size_t len);
struct sim_blob *sim_blob_get(struct sim_blob *blob);
void sim_blob_put(struct sim_blob *blob);

struct sim_change *sim_change_new(enum sim_change_kind kind, uint32_t ino, int64_t stamp);
struct sim_change *sim_change_get(struct sim_change *change);
void sim_change_put(struct sim_change *change);

/* An image with an empty root directory. */
struct sim_image *simimage_new(uint64_t cookie_seed, int64_t stamp);
struct sim_image *simimage_clone(const struct sim_image *image);
void simimage_free(struct sim_image *image);

/* An inode by its index; NULL: there is none. */
const struct sim_inode *simimage_inode(const struct sim_image *image, uint32_t ino);

/* The inode behind a name; 0: there is no such name. */
uint32_t simimage_lookup(const struct sim_image *image, uint32_t dir, const char *name, size_t len);

/* The index of the first slot at or behind a page, and of the first name behind a cookie. */
size_t simimage_slot(const struct sim_inode *inode, uint64_t index);
size_t simimage_entry_behind(const struct sim_inode *inode, uint64_t cookie);

const struct sim_xattr *simimage_xattr(const struct sim_inode *inode, const char *name);

/* Reads content. Holes, and what lies behind the end, are read as zeros. */
void simimage_read(const struct sim_inode *inode, uint64_t off, void *buf, size_t len);

/* How many pages of the range, which ends before end, have no slot yet. */
uint64_t simimage_missing(const struct sim_inode *inode, uint64_t off, uint64_t end);

void simimage_apply(struct sim_image *image, const struct sim_change *change);

/* Adds to a change SIZE or SPACE, of a file as it is before, the sectors that it cuts through. What survives of a file
 * is sectors that it had, so these go to the disk with the change. */
void simimage_add_edges(const struct sim_inode *inode, struct sim_change *change);

/* Applies a write of which each sector reaches the disk or does not. grows: the file gets as long as the write made it;
 * else as long as its sectors demand, or longer by some of the way. rng NULL: no sector reaches the disk. */
void simimage_apply_torn(struct sim_image *image, const struct sim_change *write, bool grows, struct rng *rng);

/* Drops inodes that have lost their last name, or never had one. */
void simimage_drop_orphans(struct sim_image *image);

/* Counts anew what used must be. */
uint64_t simimage_count_used(const struct sim_image *image);

/* How much of the capacity a name, an inode and an attribute take. */
uint64_t simimage_cost_of_name(size_t len);
uint64_t simimage_cost_of_inode(void);
uint64_t simimage_cost_of_xattr(size_t name_len, size_t value_len);

#endif
