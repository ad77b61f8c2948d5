/* SPDX-License-Identifier: MIT */
/* Which disks parts of files had better lie on: when disks are to leave, and when all are to be about as full. A part
 * is what a layout can put on another disk alone: one place of its list of disks, or an element that names its disk.
 *
 *     stripe(1M) on d0-d2    parts 0 1 2 on d0 d1 d2    d1 leaves    0 1 2 on d0 d3 d2    or, without d3, on d0 d2 d2
 *
 * Only parts that change their disk are copied. What is decided is taken from the table at once, so the next file finds
 * less room. Arithmetic alone: no disk is asked, and the same table gives the same answers, whether files are then
 * moved or not. */
#ifndef FALLSFS_FS_CORE_CHANGE_PLACEMENT_H
#define FALLSFS_FS_CORE_CHANGE_PLACEMENT_H

#include "layout/base.h"

#define PLACEMENT_CLOSE 0.05 /* of how full disks are with files on average: so far apart they may stay */

struct placement_disk {
    uint64_t size;    /* of its file system, of which each disk there has an equal part */
    uint64_t ours;    /* bytes of files there */
    uint64_t others;  /* bytes that cannot be moved: names, other users' files */
    uint64_t reserve; /* bytes to be left free as long as another disk has room */
    int64_t left;     /* bytes that are free for it; below 0: it has more than its part of the file system */
    uint32_t group;   /* the first disk on the same file system */
    uint32_t pool;    /* 0: none; the same number: the same pool */
    uint64_t free;    /* bytes free on the file system; counts for the first disk of a group alone */
    uint64_t used;    /* bytes not free there, when it was asked; likewise for the first disk alone */
    bool takes;       /* new bytes may go there */
    bool stands;      /* what lies there may stay */
    bool is_home;
};

/* How many parts of a file one disk may get when disks are made even: a file whose parts lie apart is read faster. */
enum placement_way {
    PLACEMENT_APART,    /* a part moves only to a disk with fewer parts than its own disk */
    PLACEMENT_PAIRED,   /* a part moves also to a disk with as many parts as its own */
    PLACEMENT_TOGETHER, /* any number */
};
#define PLACEMENT_WAYS 3

struct placement {
    uint32_t n;
    struct placement_disk *disk;
    enum placement_way way;
};

struct placement_part {
    uint32_t disk;
    uint64_t bytes;
    bool is_idle; /* a place of the list that no element lies at */
};

/* Why parts on disks that are fuller than others stay there. */
struct placement_stays {
    uint64_t named; /* bytes: somebody named the disks of their files */
    uint64_t pool;  /* bytes: their pool has no disk that is emptier */
    uint64_t large; /* bytes: a part is so large that the other disk would then be the fuller one */
    uint64_t room;  /* bytes: emptier disks would have less than what is to be left free there */
};

/* Finds the pool that all parts are in; 0: there is none. */
uint32_t placement_pool(const struct placement *placement, const struct placement_part part[], uint32_t n);

/* Gives each part that lies where it may not stay another disk, large parts first. -ENOSPC: there is none with room for
 * one of them, ret_lacking is its size; nothing has changed then. With copies 2 not all parts may lie on one disk:
 * -EEXIST where only the disk with all other parts has room. A disk is better than another, in this order,
 *
 *     in the pool of the file > leaves what is to be left free > not the home disk > has fewer parts of the
 *         file > has more bytes left > has the lower number */
int placement_leave(struct placement *placement, struct placement_part part[], uint32_t n, uint32_t copies,
                    uint64_t *ret_lacking);

/* Gives parts that lie on disks fuller than the average other disks that are emptier than it, of the same pool if the
 * file has one, where that makes them more alike and the way of the table allows it, and copies stay apart; how many,
 * or -ENOMEM. */
int placement_even(struct placement *placement, struct placement_part part[], uint32_t n, uint32_t copies,
                   struct placement_stays *stays);

/* Whether a disk is fuller than all disks would be if they were equally so. */
bool placement_is_above(const struct placement *placement, uint32_t disk);

/* How far the fullest disk with files and the emptiest that takes them are from each other, and may stay. */
double placement_spread(const struct placement *placement);
double placement_tolerance(const struct placement *placement);
bool placement_is_even(const struct placement *placement);

/* How full a disk is, from 0 to 1. */
double placement_fill(const struct placement_disk *disk);

/* Notes what a disk has free now: only less counts, since parts may be under way. */
void placement_note_free(struct placement *placement, uint32_t disk, uint64_t free);

#endif
