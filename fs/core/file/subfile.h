/* SPDX-License-Identifier: MIT */
/* Subfiles: opened when first needed, created when first written, removed with their generation. */
#ifndef FALLSFS_FS_CORE_FILE_SUBFILE_H
#define FALLSFS_FS_CORE_FILE_SUBFILE_H

#include "fs/core/file/generation.h"

/* Finds the disk that the subfile of a slot is on; -EIO when it is absent. */
int subfile_disk(struct fs *fs, const struct generation *generation, uint32_t slot, const struct disk **ret_disk);

enum subfile_use {
    SUBFILE_READ, /* the descriptor may be read-only, where the disk is */
    SUBFILE_CHANGE,
    SUBFILE_CREATE, /* to be changed, and made when there is none */
};

/* Opens the subfile of a slot; 0 and *ret_fd -1 when there is none. -EUCLEAN: what is there is no regular file of ours.
 */
int subfile_open(struct fs *fs, struct generation *generation, uint32_t slot, enum subfile_use use, int *ret_fd);

/* Checks whether bytes may be written from sub_off on. -EIO: not behind bytes that are lost, which would become zeros.
 */
int subfile_check_write(struct fs *fs, struct generation *generation, uint32_t slot, uint64_t sub_off);

/* Tells the listener that a subfile has not all that it must have, and returns -EIO. */
int subfile_lost(struct fs *fs, struct generation *generation, uint32_t slot);

/* Finds out whether a subfile lacks some of its first end bytes that it must have. */
int subfile_lacks(struct fs *fs, struct generation *generation, uint32_t slot, uint64_t end, bool *ret_lacks);

/* Checks that it lacks none. -EIO: it does, and the listener is told. */
int subfile_check_whole(struct fs *fs, struct generation *generation, uint32_t slot, uint64_t end);

/* Finds the length of the subfile; 0 when there is none. */
int subfile_len(struct fs *fs, struct generation *generation, uint32_t slot, uint64_t *ret_len);

/* Makes the subfile so long. */
int subfile_set_len(struct fs *fs, struct generation *generation, uint32_t slot, uint64_t len);

#endif
