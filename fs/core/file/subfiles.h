/* SPDX-License-Identifier: MIT */
/* What is done to all subfiles of a generation. What one holds of the first so many bytes of the file is one piece, so
 * each of these is at most one call for each subfile. */
#ifndef FALLSFS_FS_CORE_FILE_SUBFILES_H
#define FALLSFS_FS_CORE_FILE_SUBFILES_H

#include "fs/core/file/generation.h"

struct plan;

/* Closes all subfiles, and forgets which there were: what comes next starts without any. */
void subfiles_close(struct fs *fs, struct generation *generation);

/* Closes all subfiles of a generation, and frees it; NULL: nothing. */
void subfiles_free(struct fs *fs, struct generation *generation);

/* Whether the subfiles that are there are as long as a file of size bytes demands. meta is held. */
bool subfiles_are_padded(const struct generation *generation, uint64_t size);

/* Whether a subfile is too short for want of padding, not because bytes of it are lost. meta is held. */
bool subfiles_need_padding(const struct generation *generation, uint64_t size);

/* Makes the subfiles that are there as long as a file of size bytes demands. io is held exclusively. */
int subfiles_pad(struct fs *fs, struct generation *generation, uint64_t size);

/* Pads, or syncs, those alone whose slots are marked. */
int subfiles_pad_some(struct fs *fs, struct generation *generation, uint64_t size, const bool which[]);
int subfiles_sync_some(struct fs *fs, struct generation *generation, const bool which[]);

/* Cuts off what subfiles have behind the end of a file of size bytes. io is held exclusively. */
int subfiles_cut(struct fs *fs, struct generation *generation, uint64_t size);

/* Cuts like subfiles_cut, but those that are not open, or cannot be cut now, when they are opened. */
void subfiles_cut_later(struct fs *fs, struct generation *generation, uint64_t size);

/* Opens those that are to be cut. */
int subfiles_cut_now(struct fs *fs, struct generation *generation);

/* Whether some are to be cut when they are opened. meta is held. */
bool subfiles_have_tails(const struct generation *generation);

/* Notes what the shares of a plan wrote, and which of their disks should begin to write. meta is held. */
void subfiles_note_written(struct fs *fs, struct generation *generation, struct plan *plan);

/* Syncs the subfiles that have changed, all at the same time. io is held. */
int subfiles_sync(struct fs *fs, struct generation *generation);

/* Does what fallocate does with a range of the file. io is held exclusively. */
int subfiles_allocate(struct fs *fs, struct generation *generation, int mode, uint64_t off, uint64_t len);

/* Opens those subfiles that there are, to be read; false: a disk does not answer promptly, or not well. io is held. */
bool subfiles_open(struct fs *fs, struct generation *generation);

/* Asks the disks how many 512-byte blocks the subfiles take; false: not all disks answer promptly, or not all subfiles
 * are open. io is held, so that none is closed. */
bool subfiles_count_blocks(struct fs *fs, struct generation *generation, uint64_t *ret_blocks);

/* Finds data or a hole from byte off of the file on; whence is SEEK_DATA or SEEK_HOLE. A byte of the file, or size. io
 * is held exclusively. */
int64_t subfiles_seek(struct fs *fs, struct generation *generation, uint64_t off, uint64_t size, int whence);

#endif
