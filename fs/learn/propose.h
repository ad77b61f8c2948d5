/* SPDX-License-Identifier: MIT */
/* A partition made a layout: what the first rank gets becomes element 0, and so on. Ranks that get nothing have none.
 *
 *     chunks         0000 1111 0000 1111 ....     then nothing touched
 *     layout         {(0,3,8,2), ...; (4,7,8,2), ...}      what nobody touched, and what is shared, stays striped
 *
 * A subfile keeps the order of the file. Where a rank goes back, what it touches from there on is a phase of its own,
 * an element on the same disk behind the others, while there are not too many. A layout has bounds, FALLS_MAX_NODES and
 * FALLS_MAX_TEXT. A partition that does not keep them is cut into cells of a power of two, each of which goes to who
 * has most of it: the smallest such cells that fit, and it is said how many bytes lie elsewhere then. Untouched gaps
 * smaller than a stripe unit go with what stands before them. */
#ifndef FALLSFS_FS_LEARN_PROPOSE_H
#define FALLSFS_FS_LEARN_PROPOSE_H

#include "fs/learn/partition.h"
#include "layout/layout.h"

struct proposal {
    char *text;
    struct layout *layout;
    uint32_t phases;     /* elements of each rank */
    uint64_t cell;       /* 0: every chunk is where the partition has it */
    uint64_t placed;     /* bytes that the partition gives to ranks */
    uint64_t misplaced;  /* of those, bytes that lie elsewhere */
    uint64_t disordered; /* of those, bytes that are touched first before others that lie in front of them */
};

struct proposing {
    const struct chunks *chunks;
    uint32_t n_ranks, n_disks; /* n_disks 0: one for each rank that gets something */
    enum partition_reading reading;
    uint64_t size, unit; /* of the file; of stripes */
};

/* -ENODATA no byte was touched, -ENOMEM, -E2BIG there are more ranks than a layout can have elements. */
int proposal_init(struct proposal *proposal, const struct proposing *proposing);
void proposal_done(struct proposal *proposal);

#endif
