/* SPDX-License-Identifier: MIT */
/* Subfiles: opened when first needed, created when first written, removed with their generation. */
#ifndef FALLSFS_FS_CORE_SUBFILE_H
#define FALLSFS_FS_CORE_SUBFILE_H

#include "fs/core/file.h"

/* The disk of a slot; -EIO when it is absent. */
int subfile_disk(struct fs *fs, const struct file *file, uint32_t slot, const struct disk **ret_disk);

enum subfile_use {
    SUBFILE_READ, /* also where the disk has become read-only: nothing to write to */
    SUBFILE_CHANGE,
    SUBFILE_CREATE, /* the same, made when there is none */
};

/* Opens the subfile of a slot; 0 and *ret_fd -1 when there is none. -EUCLEAN for anything there that is not a regular
 * file of ours. */
int subfile_open(struct fs *fs, struct file *file, uint32_t slot, enum subfile_use use, int *ret_fd);

/* Whether bytes may be written from sub_off on; -EIO behind bytes that are lost, which would become zeros. */
int subfile_check_write(struct file *file, uint32_t slot, uint64_t sub_off);

/* -EUCLEAN when a subfile says itself that it is another one: the bytes of another file, put there by hand, must not be
 * taken for this one's. Many say nothing. */
int subfile_check_stamp(const struct disk *disk, int dir, const char *path, const struct record *record, uint32_t slot);

/* Whether subfiles with this record may have a second name. */
bool subfile_may_be_linked(const struct record *record);

/* Closes all; what comes next starts without subfiles. */
void subfile_close_all(struct fs *fs, struct file *file);

/* Length of the subfile; 0 when there is none. */
int subfile_len(struct fs *fs, struct file *file, uint32_t slot, uint64_t *ret_len);

/* Makes the subfile so long. */
int subfile_set_len(struct fs *fs, struct file *file, uint32_t slot, uint64_t len);

/* Removes all subfiles of generations [from, to) of a file with this record; layout is the one they had. The error is
 * the first; the others are removed anyway. */
int subfile_remove_all(struct fs *fs, const struct record *record, const struct file_layout *layout, uint64_t from,
                       uint64_t to);

/* The same for generations before the current one, and for the one that a migration fills. */
int subfile_remove_old(struct fs *fs, const struct record *record, const struct file_layout *old_layout);
int subfile_remove_target(struct fs *fs, const struct record *record, const struct file_layout *target_layout);

#endif
