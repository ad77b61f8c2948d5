/* SPDX-License-Identifier: MIT */
/* Removes the texts of layouts that no file has, while files are made, changed and moved: those that crashes and older
 * mounts have left. Names are gone through to find what is needed; what has been used in memory since the beginning,
 * and what files had that were moved meanwhile, is needed as well. */
#ifndef FALLSFS_FS_CORE_CHANGE_PRUNE_H
#define FALLSFS_FS_CORE_CHANGE_PRUNE_H

#include "fs/core/stub/in_use.h"

/* Counts the texts on the home disk; or prunes, and counts those that were removed. -EBUSY: somebody prunes just now;
 * -EAGAIN: directories were moved all the time; others as census_take: ret_error says what to do, and nothing was
 * removed. */
int texts_count(struct fs *fs, uint64_t *ret_n);
int texts_prune(struct fs *fs, uint64_t *ret_n, struct volume_error *ret_error);

#endif
