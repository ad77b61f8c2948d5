/* SPDX-License-Identifier: MIT */
/* A file as collectives see it (ioctl/store.h). */
#ifndef FALLSFS_FS_CORE_FILE_FILE_STORE_H
#define FALLSFS_FS_CORE_FILE_FILE_STORE_H

#include "fs/core/file/file.h"
#include "ioctl/store.h"

struct file_store {
    struct fs *fs;
    struct file *file;
    struct file_layout *layout; /* as it was in the beginning: what a disk has is the same for all who ask */
    uint16_t rotate;
};

/* What reading and writing a disk is thought to cost. */
extern const struct store_cost file_store_cost;

/* Makes a store of a file, good until file_store_done. */
struct store file_store_of(struct file_store *file_store);
void file_store_done(struct file_store *file_store);

#endif
