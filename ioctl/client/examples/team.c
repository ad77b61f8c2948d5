/* SPDX-License-Identifier: MIT */
#include "team.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void team_fail(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    _exit(1);
}

void *team_share(size_t len)
{
    void *mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (mem == MAP_FAILED)
        team_fail("no %zu bytes of shared memory", len);
    return mem;
}

struct team team_new(uint32_t n)
{
    struct team team = { n, team_share(sizeof *team.barrier) };
    pthread_barrierattr_t shared;

    if (pthread_barrierattr_init(&shared) != 0 ||
        pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED) != 0 ||
        pthread_barrier_init(team.barrier, &shared, n) != 0)
        team_fail("%u processes cannot meet", n);
    return team;
}

static void end_all(const pid_t pid[], uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (pid[i] > 0)
            (void) kill(pid[i], SIGKILL);
}

/* Waits for the n processes; after the first that fails no other is waited for in vain. */
static int wait_for_all(pid_t pid[], uint32_t n)
{
    int failed = 0;

    for (uint32_t n_left = n; n_left > 0; n_left--) {
        int status;
        pid_t ended = waitpid(-1, &status, 0);

        for (uint32_t i = 0; i < n; i++)
            if (pid[i] == ended)
                pid[i] = 0;
        if (status != 0 && !failed)
            end_all(pid, n);
        failed |= status != 0;
    }
    return failed;
}

int team_run(const struct team *team, void (*member)(void *task, uint32_t rank), void *task)
{
    pid_t pid[TEAM_MAX], parent = getpid();

    fflush(NULL); /* or each process would write what is left of it */
    for (uint32_t rank = 0; rank < team->n; rank++) {
        pid[rank] = fork();
        if (pid[rank] < 0) {
            end_all(pid, rank);
            team_fail("process %u of %u does not start", rank, team->n);
        }
        if (pid[rank] == 0) {
            (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != parent)
                _exit(1);
            member(task, rank);
            fflush(NULL);
            _exit(0);
        }
    }
    return wait_for_all(pid, team->n);
}

void team_meet(const struct team *team)
{
    (void) pthread_barrier_wait(team->barrier);
}

uint64_t team_now(void)
{
    struct timespec t;

    (void) clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t) t.tv_sec * 1000000000 + (uint64_t) t.tv_nsec;
}
