/* SPDX-License-Identifier: MIT */
/* A volume is the stamped set of disks. Below .fallsfs each has
 *
 *     volume              the stamp: who belongs to whom, what has been seen
 *     lock                held by the one daemon that serves the volume
 *     spare               room for the next stamp
 *     costs               what requests cost the disk, where somebody has measured that
 *     layout/HASH         texts of layouts, immutable
 *     obj/XX/ID.GEN.I     the bytes of element I of a file: a subfile; ID.m is a copy of the file's record, ID.r the
 *                         map of its replicas, which have subfiles ID.rK.I
 *
 * and the home disk also ns/, the tree of names; tmp/; todo/, links to the stubs of files with unfinished work. */
#ifndef FALLSFS_FS_CORE_VOLUME_VOLUME_H
#define FALLSFS_FS_CORE_VOLUME_VOLUME_H

#include "fs/core/volume/stamp.h"

enum volume_flags {
    VOLUME_READ_ONLY = 1,
    VOLUME_DEGRADED = 2, /* serve what is there when disks are missing; needs VOLUME_READ_ONLY */
    VOLUME_PEEK = 4,     /* take no lock and change nothing: for looking at a volume that may be in use */
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
    atomic_uint_least32_t n_disks;   /* grows when a disk joins, which is complete by then */
    atomic_uint_least32_t room_turn; /* grows whenever other disks are left out by new files */
    uint32_t home, fanout;
    uint64_t epoch;        /* of this mount */
    struct epochs unclean; /* epochs before it that did not end well: fs/core/volume/promise.h */
    enum volume_flags flags;
    bool ending;       /* volume_note_ending was called: nobody is served any more */
    int ns, tmp, todo; /* directories on the home disk */
    uint32_t patience; /* seconds that anybody waits for a disk; 0: for ever */
    const struct listener *listener;
    struct mutex changing;
    struct stamp stamp;                /* changing */
    struct disk disk[STAMP_MAX_DISKS]; /* nobody touches those from n_disks on */
};

/* An error in words: what is wrong, why, what to do. */
struct volume_error {
    char why[1024];
};

/* Says what an errno means, like strerror, but in our own words where there are some. */
const char *volume_strerror(int error);

/* Writes the words of an error, and returns r. */
PRINTF_LIKE(3, 4) int volume_fail(struct volume_error *error, int r, const char *fmt, ...);

/* Makes a volume of empty directories; home is an index into them. Undoes what it did when it fails. */
int volume_format(const struct member member[], uint32_t n, uint32_t home, uint32_t fanout,
                  struct volume_error *ret_error);

/* Makes an empty directory the home disk of a volume that has lost its own; stamp is that of another of its disks. It
 * has no names yet. Also a directory where that was begun, and interrupted. */
int volume_replace_home(const struct member *member, const struct stamp *stamp, struct volume_error *ret_error);

/* Takes an empty directory into a volume in use, as its last disk; also one where that was begun before. -EEXIST: it is
 * a disk of this volume. */
int volume_add_disk(struct volume *volume, const struct member *member, uint32_t *ret_index,
                    struct volume_error *ret_error);

/* Makes a disk begin to leave, or stay after all. -EPERM: it is the home disk; -ENODEV: there is no such disk. */
int volume_set_leaving(struct volume *volume, uint32_t index, bool leaves, struct volume_error *ret_error);

/* Ends the leaving of a disk: its .fallsfs is removed from member, the directory that it was. -EBUSY: *ret_left
 * subfiles are still there, or with 0 the disk is being asked for something. */
int volume_drop_disk(struct volume *volume, uint32_t index, const struct member *member, uint64_t *ret_left,
                     struct volume_error *ret_error);

/* Makes the volume one that has replicas, so that no fallsfs uses it that knows none. */
int volume_begin_replicas(struct volume *volume, struct volume_error *ret_error);

/* Whether it is such a one. */
bool volume_has_replicas(struct volume *volume);

/* Opens a volume: finds the order of its disks, checks that all are there and none is foreign or stale, takes their
 * locks, enters the next epoch. -ENODEV: one is no disk, foreign, stale or missing; -EBUSY: the volume is in use;
 * -EINPROGRESS: by a daemon that is ending; -EUCLEAN: a stamp is damaged; -EPROTONOSUPPORT: a stamp is newer than we
 * know; others as they come. */
int volume_open(const struct member member[], uint32_t n, enum volume_flags flags, struct volume **ret_volume,
                struct volume_error *ret_error);

/* Whether to try volume_open again after that error, having waited so long: umount does not wait for a daemon, which
 * may have much to write before it ends. */
bool volume_is_free_soon(int error, uint32_t waited_ms);

/* Tells who waits for the volume that nobody is served any more, and that this daemon is ending. */
void volume_note_ending(struct volume *volume);

/* Watches all disks from now on: the calls that may wait for a stalled disk are limited in number, and fail when it has
 * not answered for patience seconds; 0: never. The listener, or NULL, is told of troubles with any disk and outlives
 * the volume. */
int volume_watch(struct volume *volume, uint32_t patience, const struct listener *listener);

/* Whether the epoch before this mount, a mount or fsck, ended with everything synced. */
bool volume_last_ended_well(const struct volume *volume);

/* Says on all disks that this epoch ended well: everything must have been written. */
int volume_end_epoch(struct volume *volume);

/* Syncs all disks. */
int volume_sync(struct volume *volume);

void volume_free(struct volume *volume);
void volume_freep(struct volume **volume);

/* Whether a disk takes new bytes: it is in the volume, and not to leave. */
static inline bool volume_takes(const struct volume *volume, uint32_t index)
{
    return index < volume->n_disks && volume->disk[index].standing == DISK_IN;
}

static inline const struct disk *volume_home(const struct volume *volume)
{
    return &volume->disk[volume->home];
}

static inline bool disk_is_present(const struct disk *disk)
{
    return disk->root >= 0;
}

/* Reads the stamp of a member whose .fallsfs is open, and says why there is none that can be used. -ENODEV: it was
 * never formatted; -EUCLEAN: it is damaged; -EPROTONOSUPPORT: a newer fallsfs made it. */
int member_read_stamp(const struct member *member, const struct disk *disk, struct stamp *ret_stamp,
                      struct volume_error *error);

/* Whether another process has the lock of an open disk. */
bool member_is_locked(const struct disk *disk);

/* Opens a directory of this machine as a member; -errno. */
int member_open(const char *path, struct member *ret_member);
void member_close(struct member *member);

#endif
