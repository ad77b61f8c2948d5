/* SPDX-License-Identifier: MIT */
/* A volume as its disks tell of it, whether they are all there or not, in use or not. Nothing is locked or written. */
#ifndef FALLSFS_FS_CTL_ASK_VIEW_H
#define FALLSFS_FS_CTL_ASK_VIEW_H

#include "fs/core/disk/disk.h"
#include "fs/core/volume/volume.h"
#include "fs/ctl/ask/mount_info.h"
#include "fs/ctl/ask/mounts.h"
#include "fs/ctl/ask/probe.h"
#include "fs/ctl/talk/ctl_status.h"
#include "fs/json/json.h"

#define VIEW_LAYOUT "stripe(1M)" /* what the daemon lays new files out by, unless it is told otherwise */

struct view_disk {
    const char *path;          /* where it is, or was */
    const struct probe *probe; /* NULL: nobody named it, or it gave no answer */
    bool silent;               /* that */
    enum disk_standing standing;
    char *fs_type;
};

struct view {
    const struct mount_place *place; /* NULL: not mounted, as far as the disks' paths tell */
    uint32_t n, n_named;             /* named come first; the others are known from the stamps */
    char **path;                     /* as asked for, resolved */
    struct probe *probe;
    const struct stamp *stamp; /* the newest; NULL when no disk has one */
    struct view_disk *disk;    /* stamp->n_disks of them */
    struct volume *volume;     /* NULL: cannot be opened, for the reason in error */
    struct volume_error error;

    const struct mount_info *mount; /* what the mount says; NULL: nothing */
    bool in_use;                    /* a daemon has a disk of it */
    bool *left_out;     /* by new files: disks that are nearly full or read-only; NULL: none can be thought of */
    bool *wants_room;   /* of those: another disk would help */
    const char *layout; /* that new files are thought to have; the caller's */
    bool writable;      /* all disks are there: new files can be thought of */
    uint64_t one_file;  /* what one of them can take */
    uint32_t limit;     /* the disk that says so; UINT32_MAX when there is none */
    uint64_t size, used, avail; /* of all disks, each file system counted once */

    size_t n_actions;
    char **action;
};

/* place is the mount that the disks serve, or NULL to find it; mount is what that mount says, or NULL. -EINVAL and
 * others when the layout is none: view->error says why. */
int view_init(struct view *view, const struct mounts *mounts, const struct mount_place *place,
              const struct mount_info *mount, char *const path[], uint32_t n, const char *layout);
void view_done(struct view *view);

/* Whether a disk is shown: one that has left is not. */
static inline bool view_shows(const struct view *view, uint32_t disk)
{
    return view->disk[disk].standing != DISK_GONE;
}

/* The word for the state of a disk, for people and programs. */
const char *view_state(const struct view_disk *disk);

#endif
