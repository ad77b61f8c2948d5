/* SPDX-License-Identifier: MIT */
/* What replicas would be worth, as Wang and Kaeli have them: what several processes read lies in the partition of each.
 *
 *     read by many, never written           rank 0 ▓▓▓▓  rank 1 ▓▓▓▓       dropped when somebody does write
 *     written by one, read by others        rank 0 ▒▒▒▒  rank 1 ▒▒▒▒       updated with each write
 *
 * One reader has the file itself, so there are copies for all others. A reader finds its bytes in the order of the
 * file, one after the other, on one disk: its rank modulo the number of disks. Nothing makes such replicas yet: this is
 * what a recommendation has in their place. */
#ifndef FALLSFS_FS_LEARN_REPLICAS_H
#define FALLSFS_FS_LEARN_REPLICAS_H

#include "fs/learn/busy.h"
#include "fs/learn/chunk.h"

struct replica {
    enum chunk_class class; /* CHUNK_READ or CHUNK_WRITTEN_ONE */
    uint64_t bytes, chunks; /* of the file, that more than one process reads */
    uint64_t room;          /* what the copies take */
    uint64_t most;          /* ns of the disk that has most to do then; the file being laid out as it is or would be */
    uint64_t without;       /* the same without copies; nothing is thought to stay in memory */
};

/* Says what replicas of a class are worth beside a layout. No bytes: there is nothing to replicate. Errors are those of
 * busy_init. */
int replica_judge(struct replica *replica, enum chunk_class class, const struct touches *touches,
                  const struct chunks *chunks, const struct pattern *pattern, uint32_t n_disks, enum extents_of of,
                  const struct disk_costs costs[]);

#endif
