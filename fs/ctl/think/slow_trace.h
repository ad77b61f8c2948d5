/* SPDX-License-Identifier: MIT */
/* What a trace says of a file that may be slow: for how long accesses were under way, how long they are, where they
 * lie, and which layout would serve them better.
 *
 *     access      |----|    |---------|
 *                    |----|                    waited: the lengths of all three
 *     active      |-------| |---------|        each moment once */
#ifndef FALLSFS_FS_CTL_THINK_SLOW_TRACE_H
#define FALLSFS_FS_CTL_THINK_SLOW_TRACE_H

#include "fs/ctl/ask/file_info.h"
#include "fs/ctl/think/slow.h"
#include "fs/trace/trace.h"

struct slow_file {
    uint64_t inode;
    uint32_t tgid; /* accesses of this process count; 0: of all */
    const struct file_info *info;
    const char *path; /* on its mount, for what was measured of its disks; NULL: that is assumed */
};

/* A layout that would be better. */
struct slow_advice {
    char *layout;               /* NULL: none is known */
    double degree, best_degree; /* match degrees of the present layout, and of that one; 0: nobody knows */
};

/* Makes all that a trace has of a file, which may be several entries, the first of them, with the layout that the file
 * has now; -ENOENT there is none, -ENOMEM. */
int slow_trace_gather(struct trace *trace, const struct slow_file *file, uint32_t *ret_index);

/* Fills in what the figures have of the accesses of the file with that index; what is not known stays 0. -ENOMEM. */
int slow_trace_look(struct slow_figures *figures, const struct trace *trace, uint32_t index,
                    const struct slow_file *file, struct slow_advice *ret_advice);
void slow_advice_done(struct slow_advice *advice);

#endif
