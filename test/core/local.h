/* SPDX-License-Identifier: MIT */
/* A file named f on a volume of real directories, for what simulated disks cannot do. FALLSFS_CHURN=SEED in the
 * environment: replicas of it come and go meanwhile, and are looked at in the end. */
#ifndef FALLSFS_TEST_CORE_LOCAL_H
#define FALLSFS_TEST_CORE_LOCAL_H

#include "test/core/churn.h"

#define LOCAL_MAX_DISKS 8

struct local {
    char top[64];
    struct fs *fs;
    struct inode *inode;
    struct file *file;
    bool is_churned;
    struct churn churn;
};

/* Makes the volume and the file, and starts the workers; removes all of it again. An error ends the program. */
void local_init(struct local *local, unsigned n_disks, const char *layout);
void local_done(struct local *local);

/* Compares the replicas with the file, which nobody changes meanwhile, as far as the file can be read. */
void local_check(struct local *local);

#endif
