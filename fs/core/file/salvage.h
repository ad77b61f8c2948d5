/* SPDX-License-Identifier: MIT */
/* Reading what is left of a file: bytes that are lost come as zeros, and somebody hears which they are. */
#ifndef FALLSFS_FS_CORE_FILE_SALVAGE_H
#define FALLSFS_FS_CORE_FILE_SALVAGE_H

#include "fs/core/file/file.h"

struct salvage {
    /* lost: bytes [off, off + len) of the file are lost, error says why. They are told in file order, and as one where
     * they touch within one call of salvage_read. */
    void (*lost)(void *arg, uint64_t off, uint64_t len, int error);
    void *arg;
};

/* Reads what is left: how many bytes, fewer than len only at the end of the file; -ENOMEM, -EFBIG. */
ssize_t salvage_read(struct fs *fs, struct file *file, void *buf, size_t len, uint64_t off,
                     const struct salvage *salvage);

#endif
