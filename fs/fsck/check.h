/* SPDX-License-Identifier: MIT */
/* Checks a volume, and repairs what can be repaired without inventing anything.
 *
 *     todo/, tmp/         what a crash left unfinished                     finished
 *     ns/ ──> records     damaged                                          restored from a copy
 *         ──> subfiles    missing, short: bytes are lost                   told, each time; reading them stays an error
 *                         longer than the file                             cut
 *     layout/             a text damaged or missing on some disk           written anew from another
 *     obj/                objects that no record names                     moved to .fallsfs/lost/ on their disk
 *
 * Nothing that a valid record names is removed or moved, whatever else is wrong. Without repair nothing is written at
 * all. A second check finds what the first one could not repair, and no more. It ends on any content of the disks. */
#ifndef FALLSFS_FS_FSCK_CHECK_H
#define FALLSFS_FS_FSCK_CHECK_H

#include "fs/core/volume.h"

enum finding_fate {
    FINDING_LEFT,  /* somebody must do something, or lives with it */
    FINDING_FIXED, /* or would be, with repair */
    FINDING_NOTE,  /* nothing is wrong */
};

struct finding {
    const char *kind; /* one word: missing, short, orphan, ... */
    enum finding_fate fate;
    bool done;          /* of those that can be fixed: this run has */
    const char *path;   /* in the volume; NULL: none */
    const char *object; /* below the disk's .fallsfs; NULL: none */
    uint32_t disk;      /* UINT32_MAX: none */
    const char *what;
};

struct check {
    /* set by who asks */
    bool repair;
    bool copies; /* also write copies of all records; with repair */
    void (*tell)(void *arg, const struct finding *finding);
    void *arg;

    /* what came of it */
    uint64_t n_files, n_objects, n_copies;
    uint64_t n_fixed, n_left; /* without repair, n_fixed is what could be */
};

/* The volume is open, its locks taken; with repair not read-only. -ENOMEM, -EIO: could not go on. */
int check_volume(struct check *check, struct volume *volume);

#endif
