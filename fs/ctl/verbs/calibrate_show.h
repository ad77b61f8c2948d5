/* SPDX-License-Identifier: MIT */
/* What requests cost the disks of a volume, shown: as two tables, or as JSON. */
#ifndef FALLSFS_FS_CTL_VERBS_CALIBRATE_SHOW_H
#define FALLSFS_FS_CTL_VERBS_CALIBRATE_SHOW_H

#include "fs/ctl/ask/kept_costs.h"
#include "fs/ctl/talk/ctl_status.h"

/* Of one disk; those that nobody has asked about are not shown. */
struct shown_cost {
    bool is_asked;
    struct kept_cost kept;
    uint32_t shares; /* the first disk that lies on the same device; itself, where none does */
};

/* Show the disks, and on standard error why there is nothing to show of some. raw: bytes in full. */
enum ctl_status costs_show(const struct shown_cost disk[], uint32_t n, bool raw);
enum ctl_status costs_show_json(const char *target, const struct shown_cost disk[], uint32_t n);

#endif
