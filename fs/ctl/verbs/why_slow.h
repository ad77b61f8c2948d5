/* SPDX-License-Identifier: MIT */
/* fallsctl why-slow: files are watched for some seconds, then judged, then told of. */
#ifndef FALLSFS_FS_CTL_VERBS_WHY_SLOW_H
#define FALLSFS_FS_CTL_VERBS_WHY_SLOW_H

#include "fs/ctl/ask/file_info.h"
#include "fs/ctl/ask/file_stats.h"
#include "fs/ctl/ask/job.h"
#include "fs/ctl/think/slow_trace.h"
#include "fs/ctl/think/trace_tap.h"

#include <sys/types.h>

/* A mount that some of the files lie in. */
struct slow_mount {
    char *target;
    struct stats before, after;
    struct trace_tap tap;
    struct trace trace;
};

/* A file, and what was found out about it. */
struct slow_target {
    char *path;
    uint32_t mount;
    uint64_t inode;
    int held; /* a descriptor, so that what is counted of the file stays; -1 where that may not be */
    struct file_info info;
    struct file_stats before, after;
    struct job_info job; /* number 0: it is not on its way to another layout */
    char *refused;       /* why it is not watched; NULL: it is */
    struct slow_figures figures;
    struct slow_advice advice;
    struct slow_verdict verdict;
};

struct slow_watch {
    double seconds;
    pid_t pid; /* whose accesses count; 0: everybody's */
    uint32_t n_mounts, n_targets;
    struct slow_mount *mount;
    struct slow_target *target;
};

/* Adds a file; of a view by name, the file that it is of. -ENODATA it lies on no mount, is no regular file, or is there
 * already; other errors, too: the reason. */
int slow_watch_add(struct slow_watch *watch, const char *path, char ret_why[static ATTRS_WHY]);

/* Watches for the seconds asked for, or until the user interrupts, and judges. Files that the user may not trace are
 * left out; where there are no others, that fails. */
int slow_watch_run(struct slow_watch *watch, char ret_why[static ATTRS_WHY]);
void slow_watch_done(struct slow_watch *watch);

/* Notes that the user interrupts, from now on, instead of ending. */
void slow_watch_notice_interrupts(void);

/* Tells of one file, for people or as members of the JSON object that is open. */
void slow_print(FILE *out, const struct slow_watch *watch, const struct slow_target *target);
void slow_json(struct json *json, const struct slow_watch *watch, const struct slow_target *target);

#endif
