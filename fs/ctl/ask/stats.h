/* SPDX-License-Identifier: MIT */
/* The figures that a mount has counted since it began, of its stats.json: fallsfs-metrics(5). What the mount does not
 * tell is 0. */
#ifndef FALLSFS_FS_CTL_ASK_STATS_H
#define FALLSFS_FS_CTL_ASK_STATS_H

#include "fs/core/disk/watch.h"
#include "fs/ctl/ask/attrs.h"

#define STATS_NAME 24

struct stats_disk {
    char name[STATS_NAME];
    bool is_up, is_absent, is_leaving, is_read_only;
    uint64_t size, available, queue, oldest_ms, busy_ns, refused, errors;
    struct tally_view kind[WATCH_KINDS];
};

struct stats_operation {
    char name[STATS_NAME];
    struct tally_view tally;
};

struct stats {
    uint64_t began_ns, mounted_ns;
    uint32_t n_disks, n_operations;
    struct stats_disk *disk;
    struct stats_operation *operation;
    struct tally_view round[2]; /* of groups, and of processes alone; [1] writes */
    uint64_t groups, ranks, waiters, parked, late, failed, files, directories;
    uint64_t jobs_waiting, jobs_running, jobs_paused, jobs_failed;
};

/* Asks the mount at target. It is not waited for longer than inquiry_patience; on failure ret_why says why. */
int stats_get(const char *target, struct stats *ret_stats, char ret_why[static ATTRS_WHY]);
void stats_done(struct stats *stats);

/* Reads figures out of a text. */
int stats_read(const char *text, struct stats *ret_stats);

/* The disk, or the operation, of that name; NULL: there is none. */
const struct stats_disk *stats_disk(const struct stats *stats, const char *name);
const struct stats_operation *stats_operation(const struct stats *stats, const char *name);

#endif
