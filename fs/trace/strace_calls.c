/* SPDX-License-Identifier: MIT */
#include "fs/trace/strace_import.h"
#include "fs/trace/strace_line.h"

#include <search.h>

/* A file by its name. */
struct named {
    const char *path;
    uint32_t index;
};

static bool contains(const char *text, const char *word)
{
    return text != NULL && strstr(text, word) != NULL;
}

static const char *arg_of(const struct strace_call *call, size_t i)
{
    return i < call->n_args ? call->arg[i] : "";
}

/* -- files -- */

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct named *) a)->path, ((const struct named *) b)->path);
}

static int find_file(struct import *import, const char *path, uint32_t *ret_index)
{
    struct trace *trace = import->trace;
    struct named key = { path, 0 }, *added;
    struct named *const *found = tfind(&key, &import->names, by_path);
    int r;

    if (found != NULL) {
        *ret_index = (*found)->index;
        return 0;
    }
    added = calloc(1, sizeof *added);
    r = added == NULL ? -ENOMEM
                      : trace_add_file(trace, (struct traced_file){ .number = (uint32_t) trace->n_files + 1,
                                                                    .path = strdup(path),
                                                                    .layout = strdup("") });
    if (r == 0) {
        *added = (struct named){ trace->file[trace->n_files - 1].path, (uint32_t) trace->n_files - 1 };
        *ret_index = added->index;
        if (tsearch(added, &import->names, by_path) == NULL)
            r = -ENOMEM;
    }
    if (r < 0)
        free(added);
    return r;
}

/* -- descriptors -- */

/* Finds what the descriptor in an argument refers to; NULL in *ret_description: no file. */
static int describe(struct import *import, struct strace_task *task, char *arg, int64_t *ret_fd,
                    struct strace_description **ret_description)
{
    struct strace_description *description;
    struct strace_fd fd;
    uint32_t index = 0;
    int r;

    *ret_description = NULL;
    *ret_fd = -1;
    if (!strace_parse_fd(arg, &fd))
        return 0;
    *ret_fd = fd.fd;
    if (fd.path == NULL) {
        import->any_bare |= fd.bare;
        strace_fds_close(task->fds, fd.fd, fd.fd);
        return 0;
    }
    r = find_file(import, fd.path, &index);
    description = strace_fds_get(task->fds, fd.fd);
    if (r == 0 && (description == NULL || description->file != index)) {
        r = strace_fds_open(task->fds, fd.fd, index, false);
        description = r == 0 ? strace_fds_get(task->fds, fd.fd) : NULL;
        if (r == 0)
            description->is_lost = true;
    }
    *ret_description = description;
    return r;
}

static uint64_t *size_of(struct import *import, const struct strace_description *description)
{
    return &import->trace->file[description->file].size;
}

/* -- accesses -- */

/* Adds an access of as many bytes as were moved, where they have a place. */
static int add_access(struct import *import, const struct strace_task *task,
                      const struct strace_description *description, uint64_t offset, int64_t moved, bool writes)
{
    struct traced_access access = { .offset = offset,
                                    .len = (uint64_t) moved,
                                    .process = task->process,
                                    .file = description->file + 1,
                                    .flags = writes ? TRACE_WRITES : 0 };
    uint64_t *size = size_of(import, description);

    if (moved <= 0 || offset > FALLS_LIMIT || access.len > FALLS_LIMIT - offset)
        return 0;
    access.at = import->began > import->trace->began ? import->began - import->trace->began : 0;
    access.took = (uint32_t) MIN((import->at - MIN(import->began, import->at)) / 1000, UINT32_MAX);
    *size = MAX(*size, offset + access.len);
    return trace_add_access(import->trace, &access);
}

/* Moves bytes where the descriptor stands, and the descriptor with them. */
static int move_on(struct import *import, const struct strace_task *task, struct strace_description *description,
                   int64_t moved, bool writes)
{
    int r;

    if (description->is_lost && moved > 0)
        import->trace->open_already++;
    description->is_lost = false;
    if (writes && description->appends)
        description->pos = *size_of(import, description);
    r = add_access(import, task, description, description->pos, moved, writes);
    if (moved > 0 && (uint64_t) moved <= FALLS_LIMIT - description->pos)
        description->pos += (uint64_t) moved;
    return r;
}

/* Moves bytes where an argument says: a number, "[number]" behind a pointer, or nothing that is one. */
static int move_at(struct import *import, const struct strace_task *task, struct strace_description *description,
                   const char *where, int64_t moved, bool writes)
{
    char *end;
    int64_t offset = strtoll(where + (*where == '['), &end, 10);

    if (end == where + (*where == '[') || offset < 0)
        return move_on(import, task, description, moved, writes);
    return add_access(import, task, description, (uint64_t) offset, moved, writes);
}

/* -- calls -- */

static int call_open(struct import *import, struct strace_task *task, struct strace_call *call)
{
    struct strace_fd fd;
    uint32_t index = 0;
    bool appends = false, truncates = strcmp(call->name, "creat") == 0;
    int r;

    if (call->ret < 0 || !strace_parse_fd(call->ret_text, &fd))
        return 0;
    if (fd.path == NULL) {
        strace_fds_close(task->fds, fd.fd, fd.fd);
        return 0;
    }
    for (size_t i = 1; i < call->n_args; i++) {
        appends |= call->arg[i][0] != '"' && contains(call->arg[i], "O_APPEND");
        truncates |= call->arg[i][0] != '"' && contains(call->arg[i], "O_TRUNC");
    }
    r = find_file(import, fd.path, &index);
    if (r == 0 && truncates)
        import->trace->file[index].size = 0;
    return r < 0 ? r : strace_fds_open(task->fds, fd.fd, index, appends);
}

static bool is_write(const struct strace_call *call)
{
    return contains(call->name, "write");
}

static int call_move(struct import *import, struct strace_task *task, struct strace_call *call)
{
    struct strace_description *description;
    int64_t fd;
    int r = describe(import, task, call->arg[0], &fd, &description);

    return r < 0 || description == NULL ? r : move_on(import, task, description, call->ret, is_write(call));
}

static int call_move_at(struct import *import, struct strace_task *task, struct strace_call *call)
{
    struct strace_description *description;
    int64_t fd;
    int r = describe(import, task, call->arg[0], &fd, &description);

    return r < 0 || description == NULL
               ? r
               : move_at(import, task, description, arg_of(call, 3), call->ret, is_write(call));
}

static int call_lseek(struct import *import, struct strace_task *task, struct strace_call *call)
{
    struct strace_description *description;
    int64_t fd;
    int r = describe(import, task, call->arg[0], &fd, &description);

    if (r < 0 || description == NULL || call->ret < 0 || (uint64_t) call->ret > FALLS_LIMIT)
        return r;
    description->pos = (uint64_t) call->ret;
    description->is_lost = false;
    if (strcmp(arg_of(call, 1), "0") == 0 && strcmp(arg_of(call, 2), "SEEK_END") == 0)
        *size_of(import, description) = description->pos;
    return 0;
}

/* dup, dup2, dup3, and fcntl that does the same. */
static int call_dup(struct import *import, struct strace_task *task, struct strace_call *call)
{
    struct strace_description *description;
    int64_t fd;
    int r = describe(import, task, call->arg[0], &fd, &description);

    if (strcmp(call->name, "fcntl") == 0 && !contains(arg_of(call, 1), "F_DUPFD"))
        return r;
    return r < 0 || call->ret < 0 || fd < 0 ? r : strace_fds_dup(task->fds, fd, call->ret);
}

static int call_close(struct import *import, struct strace_task *task, struct strace_call *call)
{
    struct strace_fd fd;

    (void) import;
    if (strace_parse_fd(call->arg[0], &fd))
        strace_fds_close(task->fds, fd.fd, fd.fd);
    return 0;
}

static int call_close_range(struct import *import, struct strace_task *task, struct strace_call *call)
{
    int64_t first, last;

    (void) import;
    if (call->ret == 0 && strace_parse_number(call->arg[0], &first) && strace_parse_number(arg_of(call, 1), &last) &&
        !contains(arg_of(call, 2), "CLOEXEC"))
        strace_fds_close(task->fds, first, last);
    return 0;
}

static int call_ftruncate(struct import *import, struct strace_task *task, struct strace_call *call)
{
    struct strace_description *description;
    int64_t fd, size;
    int r = describe(import, task, call->arg[0], &fd, &description);

    if (r == 0 && description != NULL && call->ret == 0 && strace_parse_number(arg_of(call, 1), &size) && size >= 0 &&
        (uint64_t) size <= FALLS_LIMIT)
        *size_of(import, description) = (uint64_t) size;
    return r;
}

static int call_fork(struct import *import, struct strace_task *task, struct strace_call *call)
{
    char how[64] = "";

    if (call->ret <= 0 || task->has_child || strace_tasks_find(&import->tasks, call->ret) != NULL)
        return 0;
    for (size_t i = 0; i < call->n_args; i++)
        snprintf(how + strlen(how), sizeof how - strlen(how), "%s%s",
                 contains(call->arg[i], "CLONE_FILES") ? "CLONE_FILES " : "",
                 contains(call->arg[i], "CLONE_THREAD") ? "CLONE_THREAD " : "");
    return import_add_child(import, task->pid, call->ret, how);
}

/* From one descriptor to another: arguments 0 and 1, and 2 and 3, are a descriptor and where in its file. */
static int call_copy_file_range(struct import *import, struct strace_task *task, struct strace_call *call)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < 2 && call->n_args > 3; i++) {
        struct strace_description *description;
        int64_t fd;

        r = describe(import, task, call->arg[2 * i], &fd, &description);
        if (r == 0 && description != NULL)
            r = move_at(import, task, description, call->arg[2 * i + 1], call->ret, i == 1);
    }
    return r;
}

static int call_sendfile(struct import *import, struct strace_task *task, struct strace_call *call)
{
    struct strace_description *description;
    int64_t fd;
    int r = describe(import, task, call->arg[0], &fd, &description);

    if (r == 0 && description != NULL)
        r = move_on(import, task, description, call->ret, true);
    if (r == 0 && call->n_args > 2)
        r = describe(import, task, call->arg[1], &fd, &description);
    return r < 0 || description == NULL || call->n_args <= 2
               ? r
               : move_at(import, task, description, call->arg[2], call->ret, false);
}

/* The process has the name of its program from now on. */
static int call_execve(struct import *import, struct strace_task *task, struct strace_call *call)
{
    struct traced_process *process = &import->trace->process[task->process - 1];
    char *path = call->arg[0], *base, *name;

    if (call->ret != 0 || *path != '"')
        return 0;
    path[strcspn(path + 1, "\"") + 1] = 0;
    base = strrchr(path, '/');
    name = strdup(base != NULL ? base + 1 : path + 1);
    if (name == NULL)
        return -ENOMEM;
    free(process->name);
    process->name = name;
    return 0;
}

static const struct {
    const char *name;
    int (*run)(struct import *import, struct strace_task *task, struct strace_call *call);
} calls[] = {
    { "read", call_move },
    { "write", call_move },
    { "readv", call_move },
    { "writev", call_move },
    { "pread64", call_move_at },
    { "pwrite64", call_move_at },
    { "preadv", call_move_at },
    { "pwritev", call_move_at },
    { "preadv2", call_move_at },
    { "pwritev2", call_move_at },
    { "lseek", call_lseek },
    { "open", call_open },
    { "openat", call_open },
    { "openat2", call_open },
    { "creat", call_open },
    { "close", call_close },
    { "close_range", call_close_range },
    { "dup", call_dup },
    { "dup2", call_dup },
    { "dup3", call_dup },
    { "fcntl", call_dup },
    { "fork", call_fork },
    { "vfork", call_fork },
    { "clone", call_fork },
    { "clone3", call_fork },
    { "ftruncate", call_ftruncate },
    { "copy_file_range", call_copy_file_range },
    { "sendfile", call_sendfile },
    { "execve", call_execve },
};

int import_run_call(struct import *import, struct strace_task *task, char *text)
{
    struct strace_call call;

    if (!strace_parse_call(text, &call))
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
        if (strcmp(call.name, calls[i].name) == 0 && (call.n_args > 0 || calls[i].run == call_fork))
            return calls[i].run(import, task, &call);
    return 0;
}
