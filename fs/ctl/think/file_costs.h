/* SPDX-License-Identifier: MIT */
/* What requests cost the disks of a file: as they were measured ('fallsctl calibrate'), where the file lies on a mount
 * of disks that all were; else the same is assumed of each. What somebody says overrides either.
 *
 *     costs.disk[i]   the disk that element i of the file lies on, or would in another layout */
#ifndef FALLSFS_FS_CTL_THINK_FILE_COSTS_H
#define FALLSFS_FS_CTL_THINK_FILE_COSTS_H

#include "fs/ctl/ask/attrs.h"
#include "fs/json/json.h"
#include "fs/learn/cost.h"

#define FILE_COSTS_SEEK UINT64_C(8000000) /* ns: assumed */
#define FILE_COSTS_CALL UINT64_C(100000)
#define FILE_COSTS_RATE (UINT64_C(100) << 20)

/* What somebody says; 0: nothing. */
struct costs_said {
    bool knows_seek;
    uint64_t seek, rate;
};

struct file_costs {
    uint32_t n;
    struct disk_costs *disk;
    bool is_measured, is_said; /* is_said: one of them, or both, was */
    uint64_t since;            /* when the first of them was measured: seconds since 1970 */
    char why[ATTRS_WHY];       /* they are assumed, though the file lies on a mount; empty: it does not */
};

/* path may be NULL, or no file on a mount. -ENOMEM. */
int file_costs_init(struct file_costs *costs, const char *path, uint32_t n, const struct costs_said *said);
void file_costs_done(struct file_costs *costs);

/* Prints them as "assumed 8 ms a seek, 100M a second", or "calibrated 2026-11-20: 0.1 to 8 ms ...". */
void file_costs_print(const struct file_costs *costs, FILE *out);
void file_costs_json(const struct file_costs *costs, struct json *json);

#endif
