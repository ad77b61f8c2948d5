/* SPDX-License-Identifier: MIT */
/* What a mount tells of the costs that 'fallsctl calibrate' has kept with its disks (.falls/costs.json). */
#ifndef FALLSFS_FS_CTL_ASK_KEPT_COSTS_H
#define FALLSFS_FS_CTL_ASK_KEPT_COSTS_H

#include "fs/core/volume/costs.h"
#include "fs/ctl/ask/attrs.h"

struct kept_cost {
    bool is_there;
    char why[ATTRS_WHY]; /* it is not there */
    struct costs costs;  /* without the disk's identity, which is not told */
};

struct kept_costs {
    uint32_t n;
    struct kept_cost *disk; /* by number, with those that have left */
};

/* Asks the mount at target. It is not waited for longer than inquiry_patience; on failure ret_why says why. */
int kept_costs_get(const char *target, struct kept_costs *ret_kept, char ret_why[static ATTRS_WHY]);
void kept_costs_done(struct kept_costs *kept);

/* Reads them out of a text; costs that make no sense are not there. */
int kept_costs_read(const char *text, struct kept_costs *ret_kept);

#endif
