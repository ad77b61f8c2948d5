/* SPDX-License-Identifier: MIT */
/* Subfiles in memory: what the page cache has of them can be had without a system call. They are mapped in chunks, when
 * first asked for, until the file is closed or cut to nothing. */
#ifndef FALLSFS_FS_CORE_FILE_SUBFILE_MAP_H
#define FALLSFS_FS_CORE_FILE_SUBFILE_MAP_H

#include "fs/core/file/generation.h"

/* Finds how many of the len bytes from sub_off on are in memory, and where; 0: not even the first, or the disk cannot
 * map, or they are more than a TiB away. io is held, and keeps them there. */
size_t subfile_map(struct fs *fs, struct generation *generation, uint32_t slot, uint64_t sub_off, size_t len,
                   uint8_t **ret_addr);

/* Unmaps all chunks of a subfile. io is held exclusively, or nobody uses the file any more. */
void subfile_unmap(const struct disk *disk, struct subfile *sub);

#endif
