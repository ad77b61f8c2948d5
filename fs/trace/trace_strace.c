/* SPDX-License-Identifier: MIT */
#include "fs/trace/trace_strace.h"

#include "fs/trace/strace_import.h"
#include "fs/trace/strace_line.h"

#include <search.h>

/* -- lines -- */

/* A call that has not returned yet: what there is of it is kept. */
static int begin_call(struct import *import, struct strace_task *task, const char *text)
{
    free(task->pending);
    task->pending = strdup(text);
    task->pending_at = import->at;
    task->has_child = false;
    return task->pending == NULL ? -ENOMEM : 0;
}

static int end_call(struct import *import, struct strace_task *task, const char *rest)
{
    cleanup(freep) char *begun = steal(task->pending), *text = NULL;
    int64_t pid = task->pid;
    int r;

    if (begun == NULL)
        return 0;
    import->began = task->pending_at;
    if (asprintf(&text, "%s%s", begun, rest) < 0) {
        text = NULL;
        return -ENOMEM;
    }
    r = import_run_call(import, task, text);
    strace_tasks_find(&import->tasks, pid)->has_child = false; /* where it is now: a fork moves tasks */
    return r;
}

static int take_line(struct import *import, char *text)
{
    struct strace_line line = strace_line_of(text);
    struct strace_task *task = NULL;
    int r;

    if (line.is_strace && !import->any_line)
        import->trace->began = line.at;
    import->any_line |= line.is_strace;
    if (line.kind == STRACE_NOTHING)
        return 0;
    import->pid = line.pid;
    import->at = import->began = line.at;
    if (line.kind == STRACE_EXIT) {
        strace_tasks_remove(&import->tasks, line.pid);
        return 0;
    }
    r = import_find_task(import, &task);
    if (r < 0)
        return r;
    if (line.kind == STRACE_UNFINISHED)
        return begin_call(import, task, line.text);
    if (line.kind == STRACE_RESUMED)
        return end_call(import, task, line.text);
    return import_run_call(import, task, line.text);
}

#define MAX_FOREWORD 1000 /* lines before the first one of strace */

/* Somebody may have named a large file that is something else. */
static int take_lines(struct import *import)
{
    char *line;
    int r = 1;

    for (size_t n = 0; r == 1 && (import->any_line || n < MAX_FOREWORD); n++) {
        r = strace_lines_next(&import->lines, &line);
        if (r == 1) {
            r = take_line(import, line);
            r = r == 0 ? 1 : r;
        }
        import->lines.is_trace = import->any_line;
    }
    import->trace->dropped += import->lines.n_long;
    return MIN(r, 0);
}

#define COMMAND "strace -f -ttt -yy -s 0 -o TRACE PROGRAM"

int trace_read_strace(FILE *in, struct trace *trace, char ret_why[static TRACE_WHY])
{
    struct import import = { .trace = trace };
    int r = strace_lines_init(&import.lines, in);

    if (r == 0)
        r = take_lines(&import);
    strace_lines_done(&import.lines);
    strace_tasks_done(&import.tasks);
    tdestroy(import.names, free);
    trace->flags |= TRACE_EVERY | TRACE_IMPORTED;
    if (r == -E2BIG)
        return trace_refuse(ret_why, r,
                            "has more than %u accesses, or more than %u tasks or %u descriptors at a time: trace less",
                            TRACE_MAX_ACCESSES, STRACE_MAX_TASKS, STRACE_MAX_FDS);
    if (r < 0)
        return trace_refuse(ret_why, r, "%s", strerror(-r));
    if (!import.any_line)
        return trace_refuse(ret_why, -EBADMSG,
                            "is no trace: neither fallsfs wrote it nor strace with the times of -ttt, as in " COMMAND);
    if (import.any_bare && trace->n_accesses == 0)
        return trace_refuse(ret_why, -EBADMSG,
                            "does not name the files of descriptors: -yy lets strace do that, as in " COMMAND);
    return 0;
}
