/* SPDX-License-Identifier: MIT */
/* Why a file is slow: what was measured for some seconds, and what of the time would be saved without each cause.
 *
 *     lock waits     ################            of what programs waited: for others that change the same part
 *     hot disk       ##########                  of the time the file was in use: busy longer than all disks on average
 *     small requests ######                      of the rest: what requests cost, however few bytes they are for
 *                    0 %         50 %        100 %
 *
 * A cause has a share of the time, from 0 to 1; those with the largest come first. Shares of different causes may
 * overlap: without one of them another may be what is waited for. Pure arithmetic. */
#ifndef FALLSFS_FS_CTL_THINK_SLOW_H
#define FALLSFS_FS_CTL_THINK_SLOW_H

#include "fs/ctl/ask/stats.h"

enum slow_cause {
    SLOW_FAILING_DISK,   /* it does not answer, or answers with errors */
    SLOW_LOCK_WAITS,     /* programs wait for each other */
    SLOW_MIGRATION,      /* files that get other layouts keep the disks busy */
    SLOW_DISK,           /* it takes far longer than others for the same */
    SLOW_HOT_DISK,       /* it has far more to do than others */
    SLOW_LAYOUT,         /* another layout would serve the same accesses with less */
    SLOW_HOLES,          /* bytes are read so that writes keep them */
    SLOW_SMALL_REQUESTS, /* what a request costs outweighs its bytes */
    SLOW_UNALIGNED,      /* requests that fit one stripe unit reach into two */
    SLOW_CAUSES,
};

/* What there is to say besides, or when no cause is found. */
enum slow_limit {
    SLOW_IDLE,      /* nothing was done with the file */
    SLOW_NOT_FILE,  /* programs hardly waited for it */
    SLOW_DISKS,     /* its disks are all busy: they give what they can */
    SLOW_ELSEWHERE, /* programs waited for it, but its disks had time: kernel, daemon, processors */
};

/* A disk, in the time that was measured. */
struct slow_disk {
    char name[STATS_NAME];
    bool has_file;       /* the file lies on it, too */
    bool is_up;          /* it answers */
    double busy;         /* seconds */
    uint64_t bytes;      /* that all have moved there */
    uint64_t file_bytes; /* of this file, as far as it was traced */
    uint64_t errors, refused;
    struct tally_view kind[WATCH_KINDS];
};

struct slow_figures {
    double seconds; /* that were measured */

    /* Of the file, as it was traced. */
    uint64_t accesses, bytes, failed;
    double active;                 /* seconds that at least one access was under way */
    double waited, waited_writing; /* by all accesses together, by those that write */
    double waited_plain;           /* by reads and writes, not sections and their kin */
    double waited_in_groups;       /* by ranks, also for each other */
    uint64_t bytes_written;
    uint64_t unit;     /* bytes that lie together on a disk; 0: they differ */
    uint64_t crossing; /* accesses that reach over a border of units, though no longer than one */

    /* As the mount counted them. */
    uint64_t range_waits;
    double range_waited;
    uint64_t reread;
    uint64_t jobs;             /* that are at work */
    uint64_t background_bytes; /* moved on disks for no program */
    uint32_t n_disks;
    struct slow_disk *disk;

    /* What the accesses would cost on disks that seek (fs/learn/busy.h), in ns; now 0: nobody knows. */
    uint64_t layout_now, layout_even; /* the disk that has most to do; each, were all as busy */
    uint64_t layout_best;             /* as layout_now, of the best layout that is known */
};

struct slow_finding {
    enum slow_cause cause;
    uint32_t disk; /* index, of causes that are a disk's */
    double share;
    double ratio; /* SLOW_DISK: how many times as long its calls take; SLOW_HOT_DISK: others' busy share on average */
};

struct slow_verdict {
    struct slow_finding finding[SLOW_CAUSES]; /* those worth naming, the largest share first */
    uint32_t n;
    enum slow_limit limit; /* where n is 0, what else it is */
    double disks_busy;     /* the share of the time that the busiest of the file's disks was */
};

/* As in --json. */
const char *slow_cause_name(enum slow_cause cause);
const char *slow_limit_name(enum slow_limit limit);

struct slow_verdict slow_judge(const struct slow_figures *figures);

/* How much of the time that the file was in use a disk was busy, from 0 to 1. */
double slow_busy_share(const struct slow_figures *figures, const struct slow_disk *disk);

#endif
