/* SPDX-License-Identifier: MIT */
/* What fallsctl top shows: one frame of what a mount did between two looks.
 *
 *     what it is about      the mount, since when, groups, requests
 *     DISK ...              all disks
 *     OPERATION ...         the busiest requests
 *     FILE USER JOINED ...  who waits for whom in groups, of those that the one who asks may see
 *     PID USER ...          the busiest open files, likewise
 *     JOB ...               those that are not over */
#ifndef FALLSFS_FS_CTL_VERBS_TOP_FRAME_H
#define FALLSFS_FS_CTL_VERBS_TOP_FRAME_H

#include "fs/ctl/ask/groups.h"
#include "fs/ctl/ask/open_files.h"
#include "fs/ctl/ask/stats.h"

#include <stdio.h>

#define TOP_FILTER 64
#define TOP_ALL    UINT32_MAX

enum top_order {
    TOP_BY_BYTES,
    TOP_BY_CALLS,
    TOP_BY_TIME, /* of operations, and of rounds of groups; open files by bytes */
    TOP_BY_NAME,
    TOP_ORDERS
};

const char *top_order_name(enum top_order order);

/* What is known of a mount at one moment. */
struct top_look {
    struct stats stats;
    struct open_files files;
    struct groups groups;
    char *jobs; /* a line for each; NULL: there are none, or they are not told */
};

struct top_view {
    const char *target;
    enum top_order order;
    char filter[TOP_FILTER]; /* what has this in its name, process or user; empty: all */
    bool shows_files, shows_groups, shows_operations, shows_disks;
    bool raw; /* bytes in full */
};

/* Asks the mount for all of it. */
int top_look(const char *target, struct top_look *ret_look, char ret_why[static ATTRS_WHY]);
void top_look_done(struct top_look *look);

/* Prints a frame as screen.h has it, of so many rows at most, TOP_ALL: of all there is. before NULL: since the mount
 * began. */
void top_frame(const struct top_view *view, const struct top_look *before, const struct top_look *now, uint32_t rows,
               FILE *out);

#endif
