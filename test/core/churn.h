/* SPDX-License-Identifier: MIT */
/* Threads that change how a file lies, while others use it: replicas come, are filled and go, and the file gets other
 * layouts, with copies and without. */
#ifndef FALLSFS_TEST_CORE_CHURN_H
#define FALLSFS_TEST_CORE_CHURN_H

#include "fs/core/file/file.h"
#include "test/support/rng.h"

#include <pthread.h>

struct churn {
    struct fs *fs;
    struct inode *inode;
    uint64_t seed;
    bool migrates;
    atomic_bool stop;
    pthread_t thread[3];
    unsigned n;
    unsigned n_added, n_migrated; /* replicas that came, and layouts the file has got; when all is over */
};

/* Begins; the volume becomes one that has replicas. What cannot happen ends the program. */
void churn_start(struct churn *churn, struct fs *fs, struct inode *inode, uint64_t seed, bool migrates);

/* Ends the threads, and then what goes on in the background: jobs are over, and replicas filled. */
void churn_stop(struct churn *churn);

#endif
