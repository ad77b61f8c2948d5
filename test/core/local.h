/* SPDX-License-Identifier: MIT */
/* A file named f on a volume of real directories, for what simulated disks cannot do. */
#ifndef FALLSFS_TEST_CORE_LOCAL_H
#define FALLSFS_TEST_CORE_LOCAL_H

#include "fs/core/file/file.h"

#define LOCAL_MAX_DISKS 8

struct local {
    char top[64];
    struct fs *fs;
    struct inode *inode;
    struct file *file;
};

/* Makes the volume and the file, and starts the workers; removes all of it again. An error fails the test. */
void local_init(struct local *local, unsigned n_disks, const char *layout);
void local_done(struct local *local);

#endif
