/* SPDX-License-Identifier: MIT */
/* What requests cost a disk, and how that is found out by asking it for chunks of several sizes, one behind the other
 * and apart:
 *
 *     ns a request
 *        |                        . apart
 *        |              .        .
 *        |     .                    } seek: how far the two lie from each other
 *        |                        . following
 *        |              .
 *   call {     .                      the slope: ns a byte, which is the rate
 *        +---------------------------- bytes
 *
 * A disk that others use meanwhile is slower now and then: of what was measured several times the median counts. Small
 * chunks tell of the call and large ones of the rate, so the error is made small in hundredths of the time. */
#ifndef FALLSFS_FS_LEARN_COST_H
#define FALLSFS_FS_LEARN_COST_H

#include "layout/base.h"

/* Of requests in one direction. A request takes call and its bytes, and a seek unless it begins where the disk's last
 * one ended. */
struct disk_cost {
    uint64_t seek, call; /* ns */
    uint64_t rate;       /* bytes a second, not 0 */
};

/* Of both directions. */
struct disk_costs {
    struct disk_cost read, write;
};

/* How long n requests in one direction took together, each for so many bytes. */
struct cost_sample {
    uint32_t bytes, n;
    bool apart; /* each far from the one before; else right behind it */
    uint64_t ns;
};

/* Works out the cost that explains the samples best; their order is changed. -ENODATA: there are none of requests that
 * follow each other. Without any apart there is no seek. */
int cost_fit(struct cost_sample sample[], size_t n, struct disk_cost *ret_cost);

/* The median of what one request took, in ns; 0: there is no such sample. Their order is changed. */
double cost_median(struct cost_sample sample[], size_t n, uint32_t bytes, bool apart);

/* How far the samples of like requests lie apart: the middle half of them, by their median, 1 at most; on average of
 * all kinds. 0.02 is a disk of one's own, 0.5 one that others use. */
double cost_spread(struct cost_sample sample[], size_t n);

#endif
