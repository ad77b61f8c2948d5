/* SPDX-License-Identifier: MIT */
/* A file is laid out in one more way. It is the way of a job's beginning, without a job:
 *
 *     a layout ──> where it starts ──> disks take it? room? ──> the volume is one that has replicas ──> added, empty
 */
#ifndef FALLSFS_FS_CORE_CHANGE_REPLICATE_H
#define FALLSFS_FS_CORE_CHANGE_REPLICATE_H

#include "fs/core/file/file_replicas.h"

/* Adds a replica of the file, durably; asked->rotate is chosen here: rotates, it may start on any of its disks, and
 * does so where the file does not. It is filled in the background. Besides what file_add_replica fails with: -EEXIST
 * the file lies so itself; -ENOSPC the disks have no room for what the file has there; -EROFS a disk can only be read;
 * ret_error: why the volume cannot have replicas. */
int replicate(struct fs *fs, struct file *file, const struct replica_asked *asked, bool rotates, uint32_t *ret_number,
              struct volume_error *ret_error);

#endif
