/* SPDX-License-Identifier: MIT */
/* A stamp, .fallsfs/volume, says of a disk which volume it belongs to and as which of its disks, and of the volume what
 * this disk has seen of it. It is text that people can read:
 *
 *     format = 1;
 *     volume = "7c3e1f...";  index = 2;  home = 0;  epoch = "12";  ...
 *     disks = ( { uuid = "..."; path = "/mnt/d0"; pool = ""; }, ... );
 *     checksum = "...";
 *
 * A disk that joins is the last of the list. One that is to leave has state = "leaving" until nothing is on it, and
 * state = "gone" for ever after: the places of the others in the list are what layouts name them by.
 *
 * An epoch is one mount of the volume. Entering it goes over all disks twice, first next, then epoch, so that a disk
 * left behind by a crash in between is told from one that was not there. */
#ifndef FALLSFS_FS_CORE_STAMP_H
#define FALLSFS_FS_CORE_STAMP_H

#include "fs/core/disk.h"

#define STAMP_FORMAT    1
#define STAMP_NAME      "volume"
#define STAMP_MAX_DISKS 4096
#define STAMP_MAX_POOL  64
#define STAMP_DIR       ".fallsfs"
#define STAMP_SPARE     "spare"

struct stamp_disk {
    uint8_t uuid[DISK_UUID_SIZE];
    char *path; /* where it was when this was written */
    char pool[STAMP_MAX_POOL];
    enum disk_standing standing;
};

struct stamp {
    uint8_t volume[DISK_UUID_SIZE];
    uint32_t index, home, fanout; /* objects lie in so many directories */
    uint64_t epoch, next;
    uint64_t clean;   /* the last epoch that ended with everything synced */
    uint64_t unclean; /* the last one before this that did not; 0: none */
    uint64_t changes; /* so many times disks joined, left, or began to: the list with the most of them counts */
    uint32_t n_disks;
    struct stamp_disk *disk;
};

void stamp_done(struct stamp *stamp);

/* A stamp of its own, with room for one disk more. */
int stamp_copy(const struct stamp *stamp, struct stamp *ret_stamp);

/* Which of two disks of a volume knows more of it. */
static inline bool stamp_is_newer(const struct stamp *a, const struct stamp *b)
{
    return a->epoch > b->epoch || (a->epoch == b->epoch && a->changes > b->changes);
}

/* A name that layouts can say. */
bool stamp_is_pool(const char *name);

/* Disks that have not left. */
uint32_t stamp_n_members(const struct stamp *stamp);

/* -EUCLEAN for text that stamp_print did not write. */
int stamp_parse(const char *text, size_t len, struct stamp *ret_stamp);
int stamp_print(const struct stamp *stamp, char **ret_text);

/* The stamp of the disk whose .fallsfs is root; -ENOENT there is none. Writing replaces it at once and durably. A file
 * that is nothing but room is given up for it: a volume that has filled its disks must still be mounted to remove
 * something. */
int stamp_read(const struct disk *disk, struct stamp *ret_stamp);
int stamp_write(const struct disk *disk, const struct stamp *stamp);

#endif
