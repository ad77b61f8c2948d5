/* SPDX-License-Identifier: MIT */
/* A stamp, .fallsfs/volume, says of a disk which volume it belongs to and as which of its disks, and of the volume what
 * this disk has seen of it. It is text that people can read:
 *
 *     format = 2;
 *     volume = "7c3e1f...";  index = 2;  home = 0;  epoch = "12";  ...
 *     disks = ( { uuid = "..."; path = "/mnt/d0"; pool = ""; }, ... );
 *     checksum = "...";
 *
 * Of any later format the first line and the last are the same: so one that a newer fallsfs wrote is told from one that
 * is damaged.
 *
 * A disk that joins is the last of the list. One that is to leave has state = "leaving" until nothing is on it, and
 * state = "gone" for ever after: the places of the others in the list are what layouts name them by.
 *
 * Format 1 knew the last epoch that did not end well alone, and believed none before it; it is read, and the next mount
 * that may write makes it format 2. The first replica of any file makes it format 3: a fallsfs that knows no replicas
 * would write to files and leave their maps as they are.
 *
 * An epoch is one mount of the volume. Entering it goes over all disks twice, first next, then epoch, so that a disk
 * left behind by a crash in between is told from one that was not there. */
#ifndef FALLSFS_FS_CORE_VOLUME_STAMP_H
#define FALLSFS_FS_CORE_VOLUME_STAMP_H

#include "fs/core/disk/disk.h"
#include "fs/core/volume/epochs.h"

#define STAMP_FORMAT    3
#define STAMP_USUAL     2 /* of a volume without replicas */
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
    uint32_t format; /* in which it was read, and is written */
    uint8_t volume[DISK_UUID_SIZE];
    uint32_t index, home, fanout; /* fanout: objects lie in so many directories */
    uint64_t epoch, next;
    uint64_t clean;        /* the last epoch that ended with everything synced */
    struct epochs unclean; /* epochs before this one that did not end well; the newest stamp knows */
    uint64_t changes;      /* so many times disks joined, left, or began to: the list with the most of them counts */
    uint32_t n_disks;
    struct stamp_disk *disk;
};

void stamp_done(struct stamp *stamp);

/* Copies a stamp; the copy has room for one disk more. */
int stamp_copy(const struct stamp *stamp, struct stamp *ret_stamp);

/* Whether the disk with stamp a knows more of its volume than the one with stamp b. */
static inline bool stamp_is_newer(const struct stamp *a, const struct stamp *b)
{
    return a->epoch > b->epoch || (a->epoch == b->epoch && a->changes > b->changes);
}

/* Whether layouts can name a pool so. */
bool stamp_is_pool(const char *name);

/* How many disks of the list have not left. */
uint32_t stamp_n_members(const struct stamp *stamp);

/* Finds the disk that lay at this path when it was last seen and has left; -1: there is none, or a disk that is in the
 * volume lay there. */
int64_t stamp_find_gone(const struct stamp *stamp, const char *path);

/* Reads and prints the text of a stamp. -EUCLEAN: stamp_print did not write it; -EPROTONOSUPPORT: it is a whole stamp
 * of a later format. */
int stamp_parse(const char *text, size_t len, struct stamp *ret_stamp);
int stamp_print(const struct stamp *stamp, char **ret_text);

/* Reads and writes the stamp of a disk whose .fallsfs is open; -ENOENT: it has none. Writing replaces the stamp at once
 * and durably. The spare file, which is nothing but room, is given up for that: a volume that has filled its disks must
 * still be mounted to remove something. */
int stamp_read(const struct disk *disk, struct stamp *ret_stamp);
int stamp_write(const struct disk *disk, const struct stamp *stamp);

#endif
