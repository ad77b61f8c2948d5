/* SPDX-License-Identifier: MIT */
#include "fs/trace/strace_import.h"
#include "fs/trace/strace_line.h"

static int new_process(struct import *import, const char *name, uint32_t *ret_number)
{
    struct traced_process process = { .number = (uint32_t) import->trace->n_processes + 1,
                                      .tgid = (uint32_t) import->pid,
                                      .name = strdup(name) };

    *ret_number = process.number;
    return trace_add_process(import->trace, process);
}

static bool is_fork(const char *call)
{
    return strncmp(call, "clone", 5) == 0 || strncmp(call, "fork(", 5) == 0 || strncmp(call, "vfork(", 6) == 0;
}

int import_add_child(struct import *import, int64_t parent, int64_t pid, const char *how)
{
    struct strace_task *made_by = strace_tasks_find(&import->tasks, parent);
    uint32_t process = made_by->process;
    int64_t before = import->pid;
    int r = 0;

    if (strstr(how, "CLONE_THREAD") == NULL) {
        import->pid = pid;
        r = new_process(import, import->trace->process[process - 1].name, &process);
        import->pid = before;
    }
    return r < 0 ? r : strace_tasks_fork(&import->tasks, parent, pid, process, strstr(how, "CLONE_FILES") != NULL);
}

/* What a call returns that has begun, and goes on with that line; 0: it does not return there. */
static int64_t returned(const struct strace_task *task, const struct strace_line *line)
{
    cleanup(freep) char *text = NULL;
    struct strace_call call;

    if (line->kind != STRACE_RESUMED || asprintf(&text, "%s%s", task->pending, line->text) < 0) {
        text = NULL;
        return 0;
    }
    return strace_parse_call(text, &call) ? call.ret : 0;
}

/* Looks at a line that is to come: whether it tells whose child a task is. What tells that a task has made another one,
 * or none, leaves one less of n that may have. */
static bool is_told(struct import *import, char *text, size_t *n, struct strace_task **ret_parent)
{
    const struct strace_line line = strace_line_of(text);
    struct strace_task *task = NULL;

    if (line.kind == STRACE_RESUMED || line.kind == STRACE_EXIT)
        task = strace_tasks_find(&import->tasks, line.pid);
    if (task == NULL || !task->may_have_made)
        return false;
    task->may_have_made = false;
    --*n;
    if (returned(task, &line) != import->pid)
        return false;
    *ret_parent = task;
    return true;
}

/* Finds the task that has made the one whose line it is; NULL: it came from outside. Of several that may have it is the
 * one whose call returns that number, or the one that is left when others have made others. */
static int find_parent(struct import *import, struct strace_task **ret_parent)
{
    size_t n = strace_tasks_forking(&import->tasks, is_fork);
    struct strace_task *parent = NULL;
    bool is_known = false;
    int r = 1;

    for (size_t i = 0; r == 1 && n > 1 && !is_known; i++) {
        cleanup(freep) char *text = NULL;

        r = strace_lines_peek(&import->lines, i, &text);
        if (r == 1)
            is_known = is_told(import, text, &n, &parent);
    }
    for (size_t i = 0; !is_known && parent == NULL && i < import->tasks.n; i++)
        if (import->tasks.task[i].may_have_made)
            parent = &import->tasks.task[i];
    *ret_parent = parent;
    return MIN(r, 0);
}

int import_find_task(struct import *import, struct strace_task **ret_task)
{
    struct strace_task *task = strace_tasks_find(&import->tasks, import->pid), *parent = NULL;
    uint32_t process;
    int r = 0;

    if (task == NULL) {
        r = find_parent(import, &parent);
        if (r < 0)
            return r;
        if (parent != NULL) {
            parent->has_child = true;
            r = import_add_child(import, parent->pid, import->pid, parent->pending);
        } else {
            r = new_process(import, "", &process);
            if (r == 0)
                r = strace_tasks_add(&import->tasks, import->pid, process);
        }
        task = strace_tasks_find(&import->tasks, import->pid);
    }
    *ret_task = task;
    return r;
}
