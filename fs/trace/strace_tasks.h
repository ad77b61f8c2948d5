/* SPDX-License-Identifier: MIT */
/* Who has which descriptors, as far as strace tells: what two descriptors share is what dup and fork made them share.
 *
 *     task 100 ──> fds ──> 3 ──┐
 *                              ├──> description: file 1, at byte 4096        lseek by one moves the other
 *     task 101 ──> fds ──> 3 ──┘                                             (fork; a thread shares all of fds)
 */
#ifndef FALLSFS_FS_TRACE_STRACE_TASKS_H
#define FALLSFS_FS_TRACE_STRACE_TASKS_H

#include "layout/base.h"

#define STRACE_MAX_TASKS 4096  /* alive at a time */
#define STRACE_MAX_FDS   65536 /* of one process */

struct strace_description {
    unsigned refs;
    uint32_t file;
    bool appends;
    bool is_lost; /* nobody knows where it stands: at pos only if it stood at the beginning */
    uint64_t pos;
};

struct strace_fds;

struct strace_task {
    int64_t pid;
    uint32_t process; /* its number in the trace */
    struct strace_fds *fds;
    char *pending; /* the call that it is in, as far as it was written; NULL: none */
    uint64_t pending_at;
    bool has_child;     /* pending is a fork whose child has been seen already */
    bool may_have_made; /* while it is looked for who has made a task */
};

struct strace_tasks {
    struct strace_task *task;
    size_t n;
};

void strace_tasks_done(struct strace_tasks *tasks);

struct strace_task *strace_tasks_find(struct strace_tasks *tasks, int64_t pid);

/* Adds a task that nobody has made: it has no descriptors yet. -E2BIG, -ENOMEM. */
int strace_tasks_add(struct strace_tasks *tasks, int64_t pid, uint32_t process);

/* Adds the task that parent made: with its table of descriptors, or with a copy of it. */
int strace_tasks_fork(struct strace_tasks *tasks, int64_t parent, int64_t pid, uint32_t process, bool shares);

/* Forgets one that has ended. */
void strace_tasks_remove(struct strace_tasks *tasks, int64_t pid);

/* Marks as may_have_made those that are in a call that makes a task, as is_fork tells, whose child has not been seen,
 * and no others. Returns how many that are. */
size_t strace_tasks_forking(struct strace_tasks *tasks, bool (*is_fork)(const char *call));

/* What a descriptor refers to; NULL: nothing that is known. */
struct strace_description *strace_fds_get(const struct strace_fds *fds, int64_t fd);

/* Lets a descriptor refer to something new, at its beginning. -E2BIG, -ENOMEM. */
int strace_fds_open(struct strace_fds *fds, int64_t fd, uint32_t file, bool appends);

/* Lets a descriptor refer to what another one does. */
int strace_fds_dup(struct strace_fds *fds, int64_t from, int64_t to);

/* Forgets the descriptors from first to last. */
void strace_fds_close(struct strace_fds *fds, int64_t first, int64_t last);

#endif
