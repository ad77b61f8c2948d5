/* SPDX-License-Identifier: MIT */
/* How long disks would be busy with what was done to a file, were it laid out in some way.
 *
 *     touch          [0,128K)              [128K,256K)
 *     stripe(64K,2)  64K from either       64K from either, right behind the first: no seek
 *
 * Each touch is one request to each subfile that has some of it, for every MiB of the file, as the kernel cuts them. A
 * request costs a call and its bytes, and a seek unless it begins where the disk's last one ended; near to it the way
 * costs no more than to read what lies between. Each disk has costs of its own, and so has either direction. Requests
 * come in the order of the trace. Nothing is cached; or, with a cache, disks are asked for what pages.h says.
 *
 * A rank asks for its next touch when it has the one before, and a disk serves one request after the other. So it may
 * take longer than any disk is busy:
 *
 *     ranks 0 and 1 ask disk 0, then disk 1      disk 0  0 1 . .        each is busy for 2 requests,
 *                                                disk 1  . 0 1 .        all takes 3 */
#ifndef FALLSFS_FS_LEARN_BUSY_H
#define FALLSFS_FS_LEARN_BUSY_H

#include "fs/learn/cost.h"
#include "fs/learn/extents.h"
#include "layout/pattern.h"

#define BUSY_REQUEST (UINT64_C(1) << 20) /* bytes of the file that one request is for at most */

/* What the file systems of disks keep in memory. */
struct disk_cache {
    uint64_t page;  /* bytes, not 0 */
    uint64_t ahead; /* bytes that are read ahead */
};

extern const struct disk_cache busy_usual_cache;

struct busy {
    uint32_t n_disks;
    uint64_t *ns;  /* of each disk */
    uint64_t most; /* of them: how long it takes when all others wait for that one */
    uint64_t all;
    uint64_t elapsed; /* ns until all ranks have all, and all is written */
    uint64_t requests, seeks;
};

/* One of the layouts that a file lies in: the first is its own and has all of it, others are replicas of [lo, hi). */
struct busy_layout {
    const struct pattern *pattern;
    uint64_t lo, hi;
    bool updates; /* what is written there is written here, too */
};

/* A file that lies in several layouts. */
struct busy_lies {
    const struct busy_layout *layout;
    uint32_t n;
    const uint8_t *from; /* of each touch, the one that it is read from; NULL: all is read from the first */
    bool joins; /* the pieces of one access by a pattern are asked for together, as a mount does: what follows in
                          * a subfile is one request, and small holes are read across */
};

/* Element i is on disk i modulo n_disks, the header on the first; costs are of each disk. of: reads, writes or both.
 * -E2BIG there are too many pieces, -EOVERFLOW past FALLS_LIMIT or more ns than a number holds, -ENOMEM. */
int busy_init(struct busy *busy, const struct pattern *pattern, uint32_t n_disks, const struct touches *touches,
              enum extents_of of, const struct disk_costs costs[]);
int busy_init_cached(struct busy *busy, const struct pattern *pattern, uint32_t n_disks, const struct touches *touches,
                     enum extents_of of, const struct disk_costs costs[], const struct disk_cache *cache);
int busy_init_lies(struct busy *busy, const struct busy_lies *lies, uint32_t n_disks, const struct touches *touches,
                   enum extents_of of, const struct disk_costs costs[], const struct disk_cache *cache);
void busy_done(struct busy *busy);

#endif
