/* SPDX-License-Identifier: MIT */
#include "test/mount/crash.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FUSE_MAGIC 0x65735546

void sleep_us(uint64_t us)
{
    const struct timespec time = { (time_t) (us / 1000000), (long) (us % 1000000 * 1000) };

    nanosleep(&time, NULL);
}

void *crash_share(size_t len)
{
    void *memory = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED) {
        perror("memory to share");
        exit(2);
    }
    return memory;
}

/* -- the daemon -- */

pid_t daemon_start(const struct daemon *daemon, const char *layout)
{
    char *argv[MAX_DISKS + 6] = { daemon->fallsfs, drop_const("-f"), drop_const("-o"), drop_const(layout) };
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    for (int i = 0; i < daemon->n_disks; i++)
        argv[4 + i] = daemon->disk[i];
    argv[4 + daemon->n_disks] = daemon->top;
    execv(daemon->fallsfs, argv);
    _exit(127);
}

bool daemon_wait(const struct daemon *daemon, pid_t pid)
{
    struct statfs st;

    for (int i = 0; i < 20000; i++) {
        int status;

        if (statfs(daemon->top, &st) == 0 && (unsigned long) st.f_type == FUSE_MAGIC)
            return true;
        if (waitpid(pid, &status, WNOHANG) == pid) {
            printf("the daemon ended with status %d instead of mounting\n", status);
            return false;
        }
        sleep_us(1000);
    }
    printf("the daemon does not mount\n");
    return false;
}

void daemon_kill(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* -- programs -- */

struct programs programs_start(unsigned n, void (*work)(unsigned program))
{
    struct programs programs = { .n = n };

    fflush(stdout);
    for (unsigned i = 0; i < n; i++) {
        programs.pid[i] = fork();
        if (programs.pid[i] == 0) {
            work(i);
            fflush(stdout);
            _exit(0);
        }
    }
    return programs;
}

static bool end_program(pid_t pid)
{
    char command[64];

    for (int i = 0; i < 10000; i++) {
        int status;

        if (waitpid(pid, &status, WNOHANG) == pid) {
            if (status != 0)
                printf("a program ended with status %d\n", status);
            return status == 0;
        }
        sleep_us(1000);
    }
    printf("a program hangs:\n");
    fflush(stdout);
    snprintf(command, sizeof command, "cat /proc/%d/stack /proc/%d/syscall", pid, pid);
    (void) !system(command);
    kill(pid, SIGKILL);
    return false;
}

bool programs_end(const struct programs *programs)
{
    bool good = true;

    for (unsigned i = 0; i < programs->n; i++)
        good = end_program(programs->pid[i]) && good;
    return good;
}

/* -- cycles -- */

bool crash_repeat(uint64_t n_cycles, bool (*cycle)(void *arg, struct rng *rng), void *arg)
{
    uint64_t n = 0;

    for (struct rng rng = rng_from_env(n_cycles); rng_next(&rng); n++) {
        struct rng chosen = rng_from_seed(rng.seed);

        if (!cycle(arg, &chosen)) {
            printf("in cycle %" PRIu64 ", which began where the one before had ended; " RNG_SEED "\n", n, rng.seed);
            return false;
        }
    }
    return true;
}

struct crashes {
    const struct crash_test *test;
    struct daemon daemon;
};

static bool kill_at_work(const struct crash_test *test, pid_t daemon, struct rng *rng)
{
    uint64_t delay = rng_below(rng, 40000);
    struct programs programs = programs_start(test->n_programs, test->work);

    for (int i = 0; i < 5000 && test->is_at_work != NULL && !test->is_at_work(); i++)
        sleep_us(1000);
    sleep_us(delay);
    test->doom();
    daemon_kill(daemon);
    return programs_end(&programs) && test->over();
}

static bool cycle(void *arg, struct rng *rng)
{
    const struct crashes *crashes = arg;
    const struct crash_test *test = crashes->test;
    pid_t pid = daemon_start(&crashes->daemon, test->layout[rng_below(rng, test->n_layouts)]);

    if (rng_chance(rng, test->early)) {
        sleep_us(rng_below(rng, 30000));
        daemon_kill(pid);
        return true;
    }
    if (!daemon_wait(&crashes->daemon, pid) || !test->begin(&crashes->daemon, rng)) {
        daemon_kill(pid);
        return false;
    }
    return kill_at_work(test, pid, rng);
}

int crash_main(int argc, char **argv, uint64_t n_cycles, const struct crash_test *test)
{
    struct crashes crashes = { test, { .fallsfs = argv[1], .top = argv[2], .n_disks = MIN(argc - 3, MAX_DISKS) } };

    if (argc < 4) {
        fprintf(stderr, "usage: %s FALLSFS MOUNTPOINT DISK...\n", argv[0]);
        return 2;
    }
    for (int i = 0; i < crashes.daemon.n_disks; i++)
        crashes.daemon.disk[i] = argv[3 + i];
    return crash_repeat(n_cycles, cycle, &crashes) ? 0 : 1;
}
