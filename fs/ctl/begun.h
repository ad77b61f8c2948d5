/* SPDX-License-Identifier: MIT */
/* Files that have been given a job by this command, and waiting for them. */
#ifndef FALLSFS_FS_CTL_BEGUN_H
#define FALLSFS_FS_CTL_BEGUN_H

#include "fs/ctl/attrs.h"

struct begun_file {
    char *path;
    uint64_t before; /* the job it had before; 0: none */
};

struct begun {
    struct begun_file *file;
    size_t n, room;
    uint64_t done; /* bytes of those that are not listed any more */
    bool has_bar;
};

/* Sets user.falls.migrate of a file: what, with this limit unless NULL. ret_goes_on: it has a job that is not over.
 * -errno: it keeps its layout, ret_why says why. */
int begun_add(struct begun *begun, const char *path, const char *what, const char *limit, bool *ret_goes_on,
              char ret_why[static ATTRS_WHY]);

/* Waits until at most so many are not over, paused ones not counted, with a bar on a terminal; those that are over are
 * forgotten, and failed is told of those that keep their layout. */
void begun_wait(struct begun *begun, size_t most, void (*failed)(void *ctx, const char *path, int error), void *ctx);

void begun_done(struct begun *begun);

#endif
