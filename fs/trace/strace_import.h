/* SPDX-License-Identifier: MIT */
/* What strace wrote becomes a trace: what is known on the way, and who does what of it.
 *
 *     strace_lines.h    a line, and those ahead
 *     strace_line.h     taken apart
 *     strace_family.c   whose line it is, and who has made that task
 *     strace_tasks.h    its descriptors, and where they stand
 *     strace_calls.c    what a call does to these, and which access it is */
#ifndef FALLSFS_FS_TRACE_STRACE_IMPORT_H
#define FALLSFS_FS_TRACE_STRACE_IMPORT_H

#include "fs/trace/strace_lines.h"
#include "fs/trace/strace_tasks.h"
#include "fs/trace/trace.h"

struct import {
    struct trace *trace;
    struct strace_lines lines;
    struct strace_tasks tasks;
    void *names;             /* tree of struct named */
    bool any_line, any_bare; /* descriptors without names */
    int64_t pid;             /* whose line it is */
    uint64_t at, began;      /* when the call returned, when it was made */
};

/* Finds the task whose line it is. One that is new was made by a call that has not returned yet, or came from
 * outside. */
int import_find_task(struct import *import, struct strace_task **ret_task);

/* Adds the task pid that parent made, in a call that says how. */
int import_add_child(struct import *import, int64_t parent, int64_t pid, const char *how);

/* Does what a whole call of a task does. */
int import_run_call(struct import *import, struct strace_task *task, char *text);

#endif
