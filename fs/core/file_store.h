/* SPDX-License-Identifier: MIT */
/* A file as collectives see it (ioctl/store.h). */
#ifndef FALLSFS_FS_CORE_FILE_STORE_H
#define FALLSFS_FS_CORE_FILE_STORE_H

#include "fs/core/file.h"
#include "ioctl/store.h"

struct file_store {
    struct fs *fs;
    struct file *file;
};

/* What disks are thought to take. */
extern const struct store_cost file_store_cost;

/* As long as both live. */
struct store file_store_of(struct file_store *file_store);

#endif
