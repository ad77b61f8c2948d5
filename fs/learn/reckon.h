/* SPDX-License-Identifier: MIT */
/* From which of its layouts a file would be read, as a mount with replicas decides for each access (core's replicas.h):
 *
 *     access             of rank 1: a column          rows: all of every disk     columns: all of one disk alone
 *     a disk             in each window from its first byte to its last, since small holes are read across
 *     takes              the disk that has most; or, when many read at a time, all disks' work shared by all of them
 *
 * What is read by itself, and not as a section or by a view, gets the file. */
#ifndef FALLSFS_FS_LEARN_RECKON_H
#define FALLSFS_FS_LEARN_RECKON_H

#include "fs/learn/busy.h"

#define RECKON_WINDOW    (UINT64_C(512) << 10) /* of the file, that is read at a time */
#define RECKON_MUCH_LESS 0.7                   /* of what the file takes: else that is read, as a mount has it */

/* The touches of one access, and how many processes are at work then. */
struct demand {
    size_t first, end;
    uint64_t lo, hi; /* of the file */
    uint32_t under_way;
    bool writes, by_pattern;
};

struct demands {
    struct demand *demand;
    size_t n;
};

/* -ENOMEM. */
int demands_init(struct demands *demands, const struct touches *touches);
void demands_done(struct demands *demands);

struct reckon {
    const struct touches *touches;
    const struct disk_costs *costs; /* of each disk, as the mount has them */
    uint32_t n_disks;
    struct reckon_span *span; /* of each element, and the header */
    uint32_t *met;            /* elements that have something, as many as n_met */
    double *ns;               /* of each disk */
    uint32_t n_met;
};

/* No pattern may have more elements than so many. -ENOMEM. */
int reckon_init(struct reckon *reckon, const struct touches *touches, uint32_t n_disks, const struct disk_costs costs[],
                uint32_t most_elements);
void reckon_done(struct reckon *reckon);

/* A layout that is reckoned with. */
struct reckon_layout {
    const struct pattern *pattern;
    bool is_short; /* its pieces are too many to look at each: whoever wants some of a window reads all of it */
};

/* Looks at a layout from a byte of the file on. */
struct reckon_layout reckon_look(const struct pattern *pattern, uint64_t off);

/* What an access takes in a layout, in ns. */
double reckon_cost(struct reckon *reckon, const struct demand *demand, const struct reckon_layout *layout);

/* Whether a replica that has these bytes may serve it. */
static inline bool demand_is_in(const struct demand *demand, uint64_t lo, uint64_t hi)
{
    return !demand->writes && demand->by_pattern && lo <= demand->lo && demand->hi <= hi;
}

#endif
