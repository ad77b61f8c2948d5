/* SPDX-License-Identifier: MIT */
/* The greedy partition of Wang and Kaeli: each chunk goes to one process, and inside a partition chunks stand in the
 * order of their first access.
 *
 *     chunks       0: of rank 0, touched third   1: of rank 1   2: of rank 0, touched first
 *     order        2 0 | 1                       partition 0 is read forwards by rank 0, once its bytes lie so
 *
 * The paper tells the rule twice. Its text gives a chunk to the process that accesses it most. Its figure gives it to
 * those that read it, and what several write to a shared partition. A byte has one place here, so of several readers
 * the one that reads most gets the chunk; the others would have replicas. */
#ifndef FALLSFS_FS_LEARN_PARTITION_H
#define FALLSFS_FS_LEARN_PARTITION_H

#include "fs/learn/chunk.h"

#define PARTITION_SHARED UINT32_MAX /* comes behind those of all ranks */

enum partition_reading {
    PARTITION_TEXT,
    PARTITION_FIGURE,
};

/* The rank that a chunk goes to, or PARTITION_SHARED. */
uint32_t partition_of(const struct chunk *chunk, enum partition_reading reading);

/* The chunks, by index: partition after partition, in each by first access. NULL without memory, or without chunks. */
uint32_t *partition_order(const struct chunks *chunks, enum partition_reading reading);

#endif
