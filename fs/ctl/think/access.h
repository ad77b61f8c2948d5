/* SPDX-License-Identifier: MIT */
/* What it takes to read a set of bytes from a file that is laid out in some way:
 *
 *     wanted      #..#..#..#..#..#..      element 0 has #.....#..... of it: two runs
 *     sieved      one request where reading across the hole costs less than a second one
 *
 * Counted on the nested FALLS; sets of too many pieces are counted as far as that takes no time, and the rest is
 * thought to be like it. */
#ifndef FALLSFS_FS_CTL_THINK_ACCESS_H
#define FALLSFS_FS_CTL_THINK_ACCESS_H

#include "ioctl/store.h"
#include "layout/pattern.h"

struct access {
    uint64_t wanted;   /* bytes */
    uint64_t runs;     /* pieces that are contiguous in file and subfile */
    uint64_t requests; /* of disks, holes crossed where that is cheaper */
    uint64_t read;     /* bytes these read */
    uint32_t n_disks;  /* that are asked */
    uint64_t ns;       /* until the disk that has most to do is done, as disks are thought to be */
    uint64_t work;     /* ns of all disks together */
    bool estimated;
};

/* Counts what it takes to read wanted, which lies in file coordinates. disk has the disk of each element,
 * header_disk that of the header. -E2BIG the set and the layout meet in too many different ways. */
int access_count(const struct pattern *pattern, const uint32_t *disk, uint32_t header_disk, const struct nest *wanted,
                 const struct store_cost *cost, struct access *ret_access);

#endif
