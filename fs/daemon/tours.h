/* SPDX-License-Identifier: MIT */
/* user.falls.migrate of a directory: a tour goes through it and gives each file below a job, a few at a time. Files
 * that the caller may not lay out are passed over and counted. What a tour has begun outlives the mount, as all jobs
 * do; the tour does not: it is asked for again, and passes by what has its layout already.
 *
 *     setfattr -n user.falls.migrate -v restripe DIRECTORY ──> tour ──> a, b/c, b/d ... ──> jobs */
#ifndef FALLSFS_FS_DAEMON_TOURS_H
#define FALLSFS_FS_DAEMON_TOURS_H

#include "fs/core/jobs.h"

struct tours;
struct virtual_call;

/* What is told of a tour: the sums of its jobs, and its files. */
struct tour_view {
    struct job_view job; /* number 0; the error is that of the last file that failed */
    uint64_t files, failed;
};

/* Begins the job of a file that call is about, as setting its attribute would. */
typedef int tours_begin_one(const struct virtual_call *call, const char *word, uint64_t limit);

int tours_new(struct fs *fs, struct tours **ret_tours);

/* Waits until none goes on: they stop where they are. */
void tours_free(struct tours *tours);

/* -EBUSY the directory has one, or there are too many. */
int tours_start(struct tours *tours, const struct virtual_call *call, const char *word, uint64_t limit,
                tours_begin_one *begin);

/* Also to the jobs it has begun that are not over. -ENOENT there is none, or it is over. */
int tours_order(struct tours *tours, const struct inode *dir, enum job_order order);

/* The last one of a directory; false: it had none. */
bool tours_of(struct tours *tours, const struct inode *dir, struct tour_view *ret_view);

#endif
