/* SPDX-License-Identifier: MIT */
/* A volume as its disks tell of it, whether they are all there or not, in use or not. Nothing is locked or written. */
#ifndef FALLSFS_FS_CTL_VIEW_H
#define FALLSFS_FS_CTL_VIEW_H

#include "fs/core/volume.h"
#include "fs/ctl/ctl.h"
#include "fs/ctl/json.h"
#include "fs/ctl/mounts.h"
#include "fs/ctl/probe.h"

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
    uint32_t n;
    char **path; /* as asked for, resolved */
    struct probe *probe;
    const struct stamp *stamp; /* the newest; NULL when no disk has one */
    struct view_disk *disk;    /* stamp->n_disks of them */
    struct volume *volume;     /* NULL: cannot be opened, for the reason in error */
    struct volume_error error;

    const char *layout;         /* that new files are thought to have; the caller's */
    bool writable;              /* all disks are there: new files can be thought of */
    uint64_t one_file;          /* what one of them can take */
    uint32_t limit;             /* the disk that says so; UINT32_MAX when there is none */
    uint64_t size, used, avail; /* of all disks, each file system counted once */

    size_t n_actions;
    char **action;
};

/* place is the mount they serve, or NULL to find it. -EINVAL and such when the layout is none: view->error says why. */
int view_init(struct view *view, const struct mounts *mounts, const struct mount_place *place, char *const path[],
              uint32_t n, const char *layout);
void view_done(struct view *view);

/* Disks that have left are not shown. */
static inline bool view_shows(const struct view *view, uint32_t disk)
{
    return view->disk[disk].standing != DISK_GONE;
}

/* A disk's state for people and programs. */
const char *view_state(const struct view_disk *disk);

#endif
