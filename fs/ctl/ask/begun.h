/* SPDX-License-Identifier: MIT */
/* Files that a command was told one by one, each of which the mount has given a job, and waiting for these jobs. What
 * lies below a directory is an order of its own instead, see ask/mover.h.
 *
 *     fallsctl migrate a b c    ──>    a done    b running    c waiting    ──>    a, b, c are told of in this order */
#ifndef FALLSFS_FS_CTL_ASK_BEGUN_H
#define FALLSFS_FS_CTL_ASK_BEGUN_H

#include "fs/ctl/ask/attrs.h"
#include "fs/ctl/ask/job.h"

struct begun_file {
    char *path, *layout; /* that the file is to get; NULL: only the daemon knows which */
    struct job_info job; /* of the file when it was last looked at; number 0: nobody tells of it any more */
    bool is_over;
};

struct begun {
    struct begun_file *file;
    size_t n, room;
    size_t n_over; /* the first so many files are over, and have been told of */
    uint64_t done; /* bytes of these files */
    bool has_bar;
};

/* Sets user.falls.migrate of a file to what, with this limit unless it is NULL. ret_goes_on: the file has a job that is
 * not over, and is listed; else it has its layout. -errno: it keeps the layout it had, and ret_why says why. */
int begun_add(struct begun *begun, const char *path, const char *layout, const char *what, const char *limit,
              bool *ret_goes_on, char ret_why[static ATTRS_WHY]);

/* Waits until at most so many jobs are not over, paused ones not counted, with a bar on a terminal. tell is called once
 * for each file whose job is over, in the order in which they began; when most is 0, for all files. */
void begun_wait(struct begun *begun, size_t most, void (*tell)(void *ctx, const struct begun_file *file), void *ctx);

void begun_done(struct begun *begun);

/* NULL, or why a file whose job is over, or paused, has not got its layout. */
const char *begun_failure(const struct begun_file *file);

/* Whether a file has this layout, as far as that is easily told: NULL and pools are believed. For files of whose job
 * nobody tells any more. */
bool begun_has_layout(const char *path, const char *layout);

#endif
