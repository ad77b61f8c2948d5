/* SPDX-License-Identifier: MIT */
/* Files that a command has given jobs, and waiting for them. */
#ifndef FALLSFS_FS_CTL_BEGUN_H
#define FALLSFS_FS_CTL_BEGUN_H

#include "fs/ctl/attrs.h"
#include "fs/ctl/job.h"

struct begun_file {
    char *path, *layout; /* that it is to get; NULL: only the daemon knows */
    struct job_told job; /* when last looked at; number 0: nobody tells of it any more */
    bool is_over;
};

struct begun {
    struct begun_file *file;
    size_t n, room;
    size_t n_over; /* the first so many are over, and have been told of */
    uint64_t done; /* bytes of these */
    bool has_bar;
};

/* Sets user.falls.migrate of a file: what, with this limit unless NULL. ret_goes_on: it has a job that is not over, and
 * is listed; else it is done. -errno: it keeps its layout, ret_why says why. */
int begun_add(struct begun *begun, const char *path, const char *layout, const char *what, const char *limit,
              bool *ret_goes_on, char ret_why[static ATTRS_WHY]);

/* Waits until at most so many are not over, paused ones not counted, with a bar on a terminal. tell is called once for
 * each that is over, in the order in which they began; when most is 0, for all. */
void begun_wait(struct begun *begun, size_t most, void (*tell)(void *ctx, const struct begun_file *file), void *ctx);

void begun_done(struct begun *begun);

/* NULL, or why one that is over, or paused, has not got its layout. */
const char *begun_failure(const struct begun_file *file);

#endif
