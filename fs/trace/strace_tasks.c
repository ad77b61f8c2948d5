/* SPDX-License-Identifier: MIT */
#include "fs/trace/strace_tasks.h"

struct entry {
    int64_t fd;
    struct strace_description *description;
};

struct strace_fds {
    unsigned refs;
    size_t n;
    struct entry *entry;
};

static void put(struct strace_description *description)
{
    assert(description->refs > 0);
    if (--description->refs == 0)
        free(description);
}

static void fds_put(struct strace_fds *fds)
{
    assert(fds->refs > 0);
    if (--fds->refs > 0)
        return;
    for (size_t i = 0; i < fds->n; i++)
        put(fds->entry[i].description);
    free(fds->entry);
    free(fds);
}

/* -- descriptors -- */

static struct entry *find_entry(const struct strace_fds *fds, int64_t fd)
{
    for (size_t i = 0; i < fds->n; i++)
        if (fds->entry[i].fd == fd)
            return &fds->entry[i];
    return NULL;
}

struct strace_description *strace_fds_get(const struct strace_fds *fds, int64_t fd)
{
    const struct entry *entry = find_entry(fds, fd);

    return entry != NULL ? entry->description : NULL;
}

/* Lets a descriptor refer to a description, of which it takes one reference. */
static int refer(struct strace_fds *fds, int64_t fd, struct strace_description *description)
{
    struct entry *entry = find_entry(fds, fd);

    if (entry != NULL) {
        put(entry->description);
        entry->description = description;
        return 0;
    }
    if (fds->n == STRACE_MAX_FDS || !array_grow(fds->entry, fds->n)) {
        put(description);
        return fds->n == STRACE_MAX_FDS ? -E2BIG : -ENOMEM;
    }
    fds->entry[fds->n++] = (struct entry){ fd, description };
    return 0;
}

int strace_fds_open(struct strace_fds *fds, int64_t fd, uint32_t file, bool appends)
{
    struct strace_description *description = malloc(sizeof *description);

    if (description == NULL)
        return -ENOMEM;
    *description = (struct strace_description){ .refs = 1, .file = file, .appends = appends };
    return refer(fds, fd, description);
}

int strace_fds_dup(struct strace_fds *fds, int64_t from, int64_t to)
{
    struct strace_description *description = strace_fds_get(fds, from);

    if (description == NULL) {
        strace_fds_close(fds, to, to);
        return 0;
    }
    description->refs++;
    return refer(fds, to, description);
}

void strace_fds_close(struct strace_fds *fds, int64_t first, int64_t last)
{
    size_t kept = 0;

    for (size_t i = 0; i < fds->n; i++)
        if (fds->entry[i].fd >= first && fds->entry[i].fd <= last)
            put(fds->entry[i].description);
        else
            fds->entry[kept++] = fds->entry[i];
    fds->n = kept;
}

static struct strace_fds *fds_new(void)
{
    struct strace_fds *fds = calloc(1, sizeof *fds);

    if (fds != NULL)
        fds->refs = 1;
    return fds;
}

static struct strace_fds *fds_copy(const struct strace_fds *from)
{
    struct strace_fds *fds = fds_new();

    for (size_t i = 0; fds != NULL && i < from->n; i++) {
        from->entry[i].description->refs++;
        if (refer(fds, from->entry[i].fd, from->entry[i].description) < 0) {
            fds_put(fds);
            return NULL;
        }
    }
    return fds;
}

/* -- tasks -- */

static void task_done(struct strace_task *task)
{
    fds_put(task->fds);
    free(task->pending);
}

void strace_tasks_done(struct strace_tasks *tasks)
{
    for (size_t i = 0; i < tasks->n; i++)
        task_done(&tasks->task[i]);
    free(tasks->task);
    *tasks = (struct strace_tasks){ 0 };
}

struct strace_task *strace_tasks_find(struct strace_tasks *tasks, int64_t pid)
{
    for (size_t i = 0; i < tasks->n; i++)
        if (tasks->task[i].pid == pid)
            return &tasks->task[i];
    return NULL;
}

/* Adds a task with a table of descriptors, of which it takes one reference; NULL: there was no memory for it. */
static int add(struct strace_tasks *tasks, int64_t pid, uint32_t process, struct strace_fds *fds)
{
    if (fds == NULL)
        return -ENOMEM;
    if (tasks->n == STRACE_MAX_TASKS || !array_grow(tasks->task, tasks->n)) {
        fds_put(fds);
        return tasks->n == STRACE_MAX_TASKS ? -E2BIG : -ENOMEM;
    }
    tasks->task[tasks->n++] = (struct strace_task){ .pid = pid, .process = process, .fds = fds };
    return 0;
}

int strace_tasks_add(struct strace_tasks *tasks, int64_t pid, uint32_t process)
{
    return add(tasks, pid, process, fds_new());
}

int strace_tasks_fork(struct strace_tasks *tasks, int64_t parent, int64_t pid, uint32_t process, bool shares)
{
    struct strace_fds *fds = strace_tasks_find(tasks, parent)->fds;

    if (!shares)
        return add(tasks, pid, process, fds_copy(fds));
    fds->refs++;
    return add(tasks, pid, process, fds);
}

void strace_tasks_remove(struct strace_tasks *tasks, int64_t pid)
{
    struct strace_task *task = strace_tasks_find(tasks, pid);

    if (task == NULL)
        return;
    task_done(task);
    *task = tasks->task[--tasks->n];
}

size_t strace_tasks_forking(struct strace_tasks *tasks, bool (*is_fork)(const char *call))
{
    size_t n = 0;

    for (size_t i = 0; i < tasks->n; i++) {
        struct strace_task *task = &tasks->task[i];

        task->may_have_made = task->pending != NULL && !task->has_child && is_fork(task->pending);
        n += task->may_have_made;
    }
    return n;
}
