/* SPDX-License-Identifier: MIT */
/* File domains: each is the part of the file that one worker, or with dynamic ones all, read or write for all members.
 *
 *     asked for        . . # # # # # . . # # . . . . .
 *     static, 2        0 0 0 0 0 0 0 0 1 1 1 1 1 1 1 1        the whole array in equal parts
 *     dynamic          0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0        one, whose windows go to whoever is free
 *     cyclic, 2        0 0 1 1 0 0 1 1 0 0 1 1 0 0 1 1        chunk by chunk in turn
 *     disk, 2          0 0 0 0 1 1 1 1 0 0 0 0 1 1 1 1        what a disk has
 *
 * Together they are the whole bounding section, and no byte is in two of them.
 *
 * The extended two-phase method cuts what is asked for into equal contiguous parts when domains are dynamic, one for
 * each worker. Here its windows are shared out as workers come for them, which stands for those parts: the same bytes
 * are read and written, and a worker whose disk is slow does less instead of keeping all waiting. */
#ifndef FALLSFS_IOCTL_DOMAIN_H
#define FALLSFS_IOCTL_DOMAIN_H

#include "ioctl/fad.h"
#include "ioctl/store.h"

enum domain_kind {
    DOMAINS_DEFAULT,
    DOMAINS_STATIC,
    DOMAINS_DYNAMIC,
    DOMAINS_CYCLIC,
    DOMAINS_DISK,
};

#define DOMAIN_ANY_DISK UINT32_MAX

struct domain {
    uint64_t lo, hi;
    uint64_t chunk, every; /* of [lo, hi) the first chunk bytes of every so many; 0: all */
    uint32_t disk;         /* of these what lies on that disk, or DOMAIN_ANY_DISK */
};

/* How to divide: array_end is where the array ends, for static domains; chunk is that of cyclic ones. */
struct division {
    enum domain_kind kind;
    uint32_t n; /* domains, at most; with one for each disk their number counts */
    uint64_t array_end, chunk;
};

/* Whether disks take turns within pages: then domains of their own would be work for each of their pieces. */
bool domains_are_fine(const struct fad *fad, const struct division *division, const struct store *store);

/* Whether domains are not workers' own. */
bool domains_are_shared(const struct division *division);

/* How many domains there are at most. */
uint32_t domains_max(const struct division *division, const struct store *store);

/* Fills in the domains that are not empty and returns how many. */
uint32_t domains_cut(const struct fad *fad, const struct division *division, const struct store *store,
                     struct domain ret_domain[]);

/* The first contiguous range of the domain at or after x; false when there is none. */
bool domain_next(const struct domain *domain, const struct store *store, uint64_t x, uint64_t *ret_lo,
                 uint64_t *ret_hi);

#endif
