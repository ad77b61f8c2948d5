/* SPDX-License-Identifier: MIT */
/* Which replicas would serve a file, and what they would be worth: further layouts of the bytes that several processes
 * share, each for those who read them so.
 *
 *     classes (chunk.h)                  read by many, never written          dropped when somebody does write
 *                                        written by one, read by others       updated with each write
 *     rank 0 reads rows  ────────────>   the file, laid out by rows
 *     rank 1 reads columns  ─────────>   a replica by columns, of the range that is read so
 *     only what pays                     all of the trace with it and without it (busy.h): a tenth less at least
 *
 * Pairs of a layout for the file and one for a replica are ordered by what some hundred accesses would take (reckon.h);
 * the first of them are judged by all. Further replicas are found one by one. What was not asked for by a section, a
 * view, FALLS or a list is never read from a replica. Nothing is thought to stay in memory. */
#ifndef FALLSFS_FS_LEARN_REPLICAS_H
#define FALLSFS_FS_LEARN_REPLICAS_H

#include "fs/learn/busy.h"
#include "fs/learn/chunk.h"

#define REPLICAS_MOST 3 /* that a file may have */

struct replicas_asked {
    const struct touches *touches;
    const struct chunks *chunks;
    const struct pattern *const *pattern; /* layouts to be tried */
    size_t n;
    size_t base, now;              /* of those, the one that the file is to have without replicas, and the one that it
                                    * has; SIZE_MAX: nobody knows */
    const struct busy_layout *has; /* replicas that there are already */
    uint32_t n_has;
    uint32_t n_disks;
    enum extents_of of;
    const struct disk_costs *costs, *reckoned; /* of each disk; as they are, and as the mount has them */
};

struct replica {
    size_t layout;            /* of those to be tried */
    uint64_t lo, hi;          /* of the file */
    bool updates;             /* somebody writes there */
    uint64_t reads;           /* accesses that it would serve */
    uint64_t elapsed, before; /* ns until all is done with this one and those in front of it; and with those alone */
};

struct replicas {
    size_t base; /* the layout that the file is to have beside them */
    struct replica replica[REPLICAS_MOST];
    uint32_t n;
    bool is_plain; /* several share bytes, but nobody reads them by a section or a view */
};

/* Errors are those of busy_init. */
int replicas_find(struct replicas *replicas, const struct replicas_asked *asked);

/* Whether what takes a ns is so much faster than what takes b that it is worth the trouble. */
static inline bool replicas_pay(uint64_t a, uint64_t b)
{
    return a < b && b - a > a / 10;
}

#endif
