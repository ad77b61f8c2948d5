/* SPDX-License-Identifier: MIT */
#include "fs/daemon/group/processes.h"

#include "fs/core/disk/mutex.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

struct process {
    uint64_t number;
    pid_t pid;
    uint64_t started; /* in the kernel's ticks: a number that is used again starts later */
    int fd;           /* pidfd; -1: there is none to be had, and it is looked for from time to time */
    struct process *next;
};

struct processes {
    struct processes_ops ops;
    void *ctx;
    int epoll;
    pthread_t thread;
    bool runs;
    atomic_bool stop;
    atomic_uint_least64_t n_ended;
    struct mutex lock;
    uint32_t max_fds;
    uint32_t n_fds;          /* lock */
    uint64_t last_number;    /* lock */
    struct process *process; /* lock */
};

/* -- what /proc says -- */

static int read_proc(pid_t pid, const char *name, char *text, size_t size)
{
    char path[64];
    ssize_t n;
    int fd;

    snprintf(path, sizeof path, "/proc/%d/%s", (int) pid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    n = read(fd, text, size - 1);
    close(fd);
    if (n <= 0)
        return -ESRCH;
    text[n] = 0;
    return 0;
}

static pid_t process_id(pid_t tid)
{
    char text[1024];
    const char *line;

    if (read_proc(tid, "status", text, sizeof text) < 0)
        return 0;
    line = strstr(text, "\nTgid:");
    return line != NULL ? (pid_t) strtol(line + strlen("\nTgid:"), NULL, 10) : 0;
}

#define STATE     3 /* fields of stat, as proc(5) counts them */
#define N_THREADS 20
#define STARTED   22

/* The second is a name in parentheses that may have any in it. */
static const char *stat_field(const char *text, int number)
{
    const char *field = strrchr(text, ')');

    for (int i = 2; i < number && field != NULL; i++)
        field = strchr(field + 1, ' ');
    return field != NULL ? field + 1 : NULL;
}

/* The name in a line of stat, between the first parenthesis and the last. */
static void copy_name(const char *text, char *name, size_t size)
{
    const char *from = strchr(text, '('), *to = strrchr(text, ')');
    size_t len = from != NULL && to > from ? MIN((size_t) (to - from - 1), size - 1) : 0;

    if (len > 0)
        memcpy(name, from + 1, len);
    name[len] = 0;
}

/* -ESRCH, -ENOENT: it has ended, all its threads have. name: of PROCESS_NAME bytes, or NULL. */
static int read_stat(pid_t pid, uint64_t *ret_started, char *name)
{
    char text[1024];
    const char *state, *n_threads, *started;
    int r = read_proc(pid, "stat", text, sizeof text);

    if (r < 0)
        return r;
    state = stat_field(text, STATE);
    n_threads = stat_field(text, N_THREADS);
    started = stat_field(text, STARTED);
    if (started == NULL)
        return -EIO;
    if ((*state == 'Z' || *state == 'X') && strtol(n_threads, NULL, 10) <= 1)
        return -ESRCH;
    *ret_started = strtoull(started, NULL, 10);
    if (name != NULL)
        copy_name(text, name, PROCESS_NAME);
    return 0;
}

static int start_time(pid_t pid, uint64_t *ret_started)
{
    return read_stat(pid, ret_started, NULL);
}

int process_identify(pid_t tid, struct process_identity *ret_identity)
{
    struct process_identity identity = { .pid = tid > 0 ? process_id(tid) : 0 };
    int r = identity.pid > 0 ? read_stat(identity.pid, &identity.started, identity.name) : -ESRCH;

    if (r == 0)
        *ret_identity = identity;
    return r;
}

/* -- those that are known -- */

static void watch(struct processes *processes, struct process *process) REQUIRES(processes->lock)
{
    struct epoll_event event = { .events = EPOLLIN, .data.u64 = process->number };

    process->fd = processes->n_fds < processes->max_fds ? (int) syscall(SYS_pidfd_open, process->pid, 0) : -1;
    if (process->fd >= 0 && epoll_ctl(processes->epoll, EPOLL_CTL_ADD, process->fd, &event) < 0) {
        close(process->fd);
        process->fd = -1;
    }
    processes->n_fds += process->fd >= 0;
}

uint64_t processes_of(struct processes *processes, pid_t tid)
{
    pid_t pid = tid > 0 ? process_id(tid) : 0;
    struct process *process;
    uint64_t started, number = 0;

    if (pid == 0 || start_time(pid, &started) < 0)
        return 0;
    mutex_lock(&processes->lock);
    process = processes->process;
    while (process != NULL && (process->pid != pid || process->started != started))
        process = process->next;
    if (process == NULL && (process = calloc(1, sizeof *process)) != NULL) {
        *process = (struct process){ .number = ++processes->last_number, .pid = pid, .started = started };
        process->next = processes->process;
        processes->process = process;
        watch(processes, process);
    }
    if (process != NULL)
        number = process->number;
    mutex_unlock(&processes->lock);
    return number;
}

static void forget(struct processes *processes, uint64_t number)
{
    struct process **at = &processes->process, *process;

    mutex_lock(&processes->lock);
    while (*at != NULL && (*at)->number != number)
        at = &(*at)->next;
    process = *at;
    if (process != NULL) {
        *at = process->next;
        processes->n_fds -= process->fd >= 0;
    }
    mutex_unlock(&processes->lock);
    if (process == NULL)
        return;
    if (process->fd >= 0)
        close(process->fd);
    free(process);
}

static void end(struct processes *processes, uint64_t number)
{
    atomic_fetch_add(&processes->n_ended, 1);
    forget(processes, number);
    processes->ops.ended(processes->ctx, number);
}

static bool has_ended(const struct process *process)
{
    uint64_t started;
    int r = start_time(process->pid, &started);

    return r == -ENOENT || r == -ESRCH || (r == 0 && started != process->started);
}

/* The first of those nobody tells us of that has ended; 0: none. The others are asked to be told of again. */
static uint64_t find_ended(struct processes *processes)
{
    uint64_t number = 0;

    mutex_lock(&processes->lock);
    for (struct process *process = processes->process; process != NULL && number == 0; process = process->next) {
        if (process->fd >= 0)
            continue;
        watch(processes, process);
        if (has_ended(process)) /* its number may be another's by now */
            number = process->number;
    }
    mutex_unlock(&processes->lock);
    return number;
}

static void *notice(void *arg)
{
    struct processes *processes = arg;
    struct epoll_event events[64];

    while (!atomic_load(&processes->stop)) {
        int n = epoll_wait(processes->epoll, events, ARRAY_SIZE(events), PROCESSES_TICK);

        for (int i = 0; i < n; i++)
            end(processes, events[i].data.u64);
        for (uint64_t number; (number = find_ended(processes)) != 0;)
            end(processes, number);
        processes->ops.tick(processes->ctx);
    }
    return NULL;
}

uint64_t processes_ended(const struct processes *processes)
{
    return atomic_load(&processes->n_ended);
}

/* -- life -- */

int processes_new(const struct processes_ops *ops, void *ctx, uint32_t max_fds, struct processes **ret_processes)
{
    struct processes *processes = calloc(1, sizeof *processes);

    if (processes == NULL)
        return -ENOMEM;
    processes->ops = *ops;
    processes->ctx = ctx;
    processes->max_fds = max_fds;
    processes->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (processes->epoll < 0) {
        int r = -errno;

        free(processes);
        return r;
    }
    mutex_init(&processes->lock);
    *ret_processes = processes;
    return 0;
}

int processes_start(struct processes *processes)
{
    int r = pthread_create(&processes->thread, NULL, notice, processes);

    processes->runs = r == 0;
    return -r;
}

void processes_free(struct processes *processes)
{
    if (processes == NULL)
        return;
    if (processes->runs) {
        atomic_store(&processes->stop, true);
        pthread_join(processes->thread, NULL);
    }
    while (processes->process != NULL)
        forget(processes, processes->process->number);
    close(processes->epoll);
    mutex_done(&processes->lock);
    free(processes);
}
