/* SPDX-License-Identifier: MIT */
/* All figures of a mount as they are at one moment. They are gathered here and printed elsewhere, each figure the same
 * in every form:
 *
 *     watches of disks ─┐
 *     figures.h ────────┤                  ┌──> exposition.h    .falls/metrics, -o metrics=FILE
 *     groups, jobs ─────┼──> snapshot ─────┤
 *     open files ───────┤                  └──> stats.h         .falls/stats.json
 *     accounts ─────────┘
 *
 * No disk is asked and nobody is waited for: a mount whose disks hang can still be looked into. */
#ifndef FALLSFS_FS_DAEMON_METRICS_SNAPSHOT_H
#define FALLSFS_FS_DAEMON_METRICS_SNAPSHOT_H

#include "fs/core/change/jobs.h"
#include "fs/core/disk/watch.h"
#include "fs/core/volume/stamp.h"
#include "fs/daemon/bounds/accounts.h"
#include "fs/daemon/serve/figures.h"
#include "ioctl/group.h"

struct disk_snapshot {
    uint32_t index;
    bool is_present, is_leaving, is_read_only;
    uint64_t queue, oldest_ms;      /* calls that it has not answered yet; how long the oldest waits */
    uint64_t busy_ns;               /* at least one call was under way */
    uint64_t n_refused, n_troubles; /* calls that it was not asked; troubles of all kinds */
    uint64_t size, available;       /* bytes, as it last said; size 0: it has not said */
    struct tally_view kind[WATCH_KINDS];
};

struct snapshot {
    char volume[2 * DISK_UUID_SIZE + 1];
    uint64_t began_ns, ns; /* since 1970, when the mount began; since then */
    uint32_t n_disks;
    struct disk_snapshot *disk; /* those that have not left the volume */
    struct tally_view operation[N_OPERATIONS];
    struct tally_view round[2][2]; /* as figures has them */
    struct tally_view range_waits; /* programs that waited for each other in a file */
    uint64_t work[N_WORKS], forgotten[N_FORGOTTEN], n_failed, n_late;
    uint64_t n_parked, parked_bytes;
    uint64_t n_files, n_directories; /* that are open */
    uint64_t n_jobs[JOB_STATES];
    uint64_t n_to_fill;            /* files whose replicas are to be filled */
    uint64_t accounts[N_ACCOUNTS]; /* of all users together */
    struct groups_count groups;
};

/* Whether a disk is there and answers. */
static inline bool disk_snapshot_is_up(const struct disk_snapshot *disk)
{
    return disk->is_present && disk->oldest_ms <= WATCH_STALL;
}

/* Names of kinds of calls to disks, and of what rounds are. */
const char *snapshot_kind_name(enum watch_kind kind);
const char *snapshot_direction_name(bool writes);
const char *snapshot_by_name(bool by_group);

/* Notes when the mount began. */
void snapshot_init(void);

/* Takes the figures of the mount; -ENOMEM. */
int snapshot_take(struct snapshot *ret_snapshot);
void snapshot_done(struct snapshot *snapshot);

#endif
