/* SPDX-License-Identifier: MIT */
/* What a disk did between two looks at its figures, as iostat(1) tells of block devices:
 *
 *     looks        10:00:05 ── 800 reads, 3 s of waiting ── 10:00:10
 *     rates        160 reads a second, 0.6 calls at a time
 */
#ifndef FALLSFS_FS_CTL_THINK_RATES_H
#define FALLSFS_FS_CTL_THINK_RATES_H

#include "fs/ctl/ask/stats.h"

struct rates {
    double seconds;
    double calls[WATCH_KINDS];      /* a second */
    double bytes[WATCH_KINDS];      /* a second */
    double median[WATCH_KINDS];     /* seconds that half of the calls took no longer than */
    double percentile[WATCH_KINDS]; /* seconds that 99 of 100 took no longer than */
    double n_waiting;               /* calls that waited at the same time, on average */
    double busy;                    /* the share of the time in which at least one did */
    uint64_t errors, refused;       /* meanwhile */
};

/* The rates of a disk between two looks at its mount. before NULL: since the mount began. Of a mount that began anew in
 * between, or a disk that joined, it is since then. */
struct rates rates_of(const struct stats *before, const struct stats *now, const struct stats_disk *disk);

/* What one operation came to in the same time. */
struct tally_view rates_operation(const struct stats *before, const struct stats *now,
                                  const struct stats_operation *operation);

/* How many seconds lie between the looks. */
double rates_seconds(const struct stats *before, const struct stats *now);

#endif
