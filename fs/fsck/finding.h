/* SPDX-License-Identifier: MIT */
/* A check as who asks for one sees it: what it shall do, and what it finds. */
#ifndef FALLSFS_FS_FSCK_FINDING_H
#define FALLSFS_FS_FSCK_FINDING_H

#include <stdbool.h>
#include <stdint.h>

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
    bool copies;       /* also write copies of all records; with repair */
    bool free_orphans; /* remove objects that nobody needs, instead of moving them, if it is certain that nobody does */
    void (*tell)(void *arg, const struct finding *finding);
    void *arg;

    /* what came of it */
    uint64_t n_files, n_objects, n_copies;
    uint64_t n_fixed, n_left; /* without repair, n_fixed is what could be */
    uint64_t n_noted;
    uint64_t n_freed, bytes_freed; /* of orphans; likewise */
};

#endif
