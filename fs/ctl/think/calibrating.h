/* SPDX-License-Identifier: MIT */
/* Measuring what requests cost a disk: rounds, in each of which it is asked once for chunks of every size, behind each
 * other and apart, to read and to write; so what others do meanwhile meets all of them alike.
 *
 *     scratch file ──> rounds of samples ──> medians: bandwidth by chunk size, Table 2 of the fourth paper
 *                                       └──> cost_fit: call, seek, rate ──> costs, kept with the disk */
#ifndef FALLSFS_FS_CTL_THINK_CALIBRATING_H
#define FALLSFS_FS_CTL_THINK_CALIBRATING_H

#include "fs/core/volume/costs.h"
#include "fs/ctl/ask/attrs.h"

struct calibrating {
    const char *path; /* of the disk */
    uint8_t uuid[DISK_UUID_SIZE];
    uint64_t most;    /* bytes of the scratch file */
    uint32_t seconds; /* that it takes at most; on a disk that is very slow up to twice as long, and a little more */
};

/* Measures a disk, and keeps what came of it there. On failure ret_why says why. The thread acts as the owner of the
 * disk meanwhile: it should be one of its own. */
int calibrate(const struct calibrating *calibrating, struct costs *ret_costs, char ret_why[static ATTRS_WHY]);

#endif
