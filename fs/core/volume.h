/* SPDX-License-Identifier: MIT */
/* A volume is the stamped set of disks. Below .fallsfs each has
 *
 *     volume              the stamp: who belongs to whom, what has been seen
 *     lock                held by the one daemon that serves the volume
 *     spare               room for the next stamp
 *     layout/HASH         texts of layouts, immutable
 *     obj/XX/ID.GEN.I     the bytes of element I of a file: a subfile; ID.m is a copy of the file's record
 *
 * and the home disk also ns/, the tree of names; tmp/; todo/, links to the stubs of files with unfinished work. */
#ifndef FALLSFS_FS_CORE_VOLUME_H
#define FALLSFS_FS_CORE_VOLUME_H

#include "fs/core/stamp.h"

enum volume_flags {
    VOLUME_READ_ONLY = 1,
    VOLUME_DEGRADED = 2, /* serve what is there when disks are missing; needs VOLUME_READ_ONLY */
    VOLUME_PEEK = 4,     /* take no lock and change nothing: for looking at a volume that may be in use */
    VOLUME_REPAIR = 8,   /* no file's bytes change: the epoch ends well even if nobody says so */
};

/* A directory that may be a disk. dir stays the caller's. */
struct member {
    const struct disk_ops *ops;
    void *ctx;
    int dir;
    const char *path;
    const char *pool; /* when a volume is made: the one it shall be in; NULL: none */
};

struct volume {
    uint8_t uuid[DISK_UUID_SIZE];
    atomic_uint_least32_t n_disks; /* grows when one joins, which is complete by then */
    uint32_t home, fanout;
    uint64_t epoch;   /* of this mount */
    uint64_t unclean; /* the last epoch that did not end well: what was stored up to then is looked at again */
    enum volume_flags flags;
    bool ending;       /* it was said that nobody is served any more */
    int ns, tmp, todo; /* on the home disk */
    uint32_t patience; /* of who waits for disks, in seconds */
    pthread_mutex_t changing;
    struct stamp stamp;                /* changing */
    struct disk disk[STAMP_MAX_DISKS]; /* of which nobody touches those behind n_disks */
};

/* What is wrong, why, what to do. */
struct volume_error {
    char why[1024];
};

/* Notes why, gives r back. */
PRINTF_LIKE(3, 4) int volume_fail(struct volume_error *error, int r, const char *fmt, ...);

/* Makes a volume of empty directories; home is an index into them. Undoes what it did when it fails. */
int volume_format(const struct member member[], uint32_t n, uint32_t home, uint32_t fanout,
                  struct volume_error *ret_error);

/* Makes an empty directory the home disk of the volume that stamp, of another disk, is of: the old one is lost. It has
 * no names yet. */
int volume_replace_home(const struct member *member, const struct stamp *stamp, struct volume_error *ret_error);

/* Takes an empty directory into a volume in use, as its last disk; also one where that was begun before. -EEXIST a disk
 * of this volume. */
int volume_add_disk(struct volume *volume, const struct member *member, uint32_t *ret_index,
                    struct volume_error *ret_error);

/* A disk begins to leave, or stays after all. -EPERM the home disk, -ENODEV no such disk. */
int volume_set_leaving(struct volume *volume, uint32_t index, bool leaves, struct volume_error *ret_error);

/* One that was to leave has left: its .fallsfs goes, from member, the directory that it was. -EBUSY with *ret_left when
 * so many subfiles are still there, or with 0 when the disk is being asked for something. */
int volume_drop_disk(struct volume *volume, uint32_t index, const struct member *member, uint64_t *ret_left,
                     struct volume_error *ret_error);

/* Finds the disks' order, checks that all are there and none is foreign or stale, takes the locks, enters the next
 * epoch. -ENODEV not a disk, foreign, stale or missing; -EBUSY in use; -EINPROGRESS by a daemon that is ending;
 * -EUCLEAN a damaged stamp; others as they come. */
int volume_open(const struct member member[], uint32_t n, enum volume_flags flags, struct volume **ret_volume,
                struct volume_error *ret_error);

/* Whether to try again after that error, having waited so long: umount does not wait for a daemon, which may have much
 * to write before it ends. */
bool volume_is_free_soon(int error, uint32_t waited_ms);

/* Says so to who waits: nobody is served any more. */
void volume_note_ending(struct volume *volume);

/* From here on calls to disks that stall are limited in number, and fail when one has not answered for so many seconds;
 * 0: never. */
int volume_watch(struct volume *volume, uint32_t patience);

/* Says on all disks that this epoch ended well: everything must have been written. */
int volume_end_epoch(struct volume *volume);

/* Syncs all disks. */
int volume_sync(struct volume *volume);

void volume_free(struct volume *volume);
void volume_freep(struct volume **volume);

/* Where new bytes may go. */
static inline bool volume_takes(const struct volume *volume, uint32_t index)
{
    return index < volume->n_disks && volume->disk[index].standing == DISK_IN;
}

static inline struct disk *volume_home(struct volume *volume)
{
    return &volume->disk[volume->home];
}

static inline bool disk_is_present(const struct disk *disk)
{
    return disk->root >= 0;
}

/* A directory of this machine as a member; -errno. */
int member_open(const char *path, struct member *ret_member);
void member_close(struct member *member);

#endif
