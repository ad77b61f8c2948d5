/* SPDX-License-Identifier: MIT */
/* Who has ended, also where the kernel does not tell; and who only seems to be somebody that has. */
#include "fs/daemon/group/sections.h"

#include <criterion/criterion.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SOON 1000 /* ms */

static atomic_uint_least64_t last_ended;

static void note_ended(void *ctx, uint64_t process)
{
    (void) ctx;
    atomic_store(&last_ended, process);
}

static void tick(void *ctx)
{
    (void) ctx;
}

static struct processes *start(void)
{
    static const struct processes_ops ops = { note_ended, tick };
    struct processes *processes;

    cr_assert(processes_new(&ops, NULL, 16, &processes) == 0 && processes_start(processes) == 0);
    return processes;
}

static bool ends_soon(uint64_t process)
{
    for (int i = 0; i < SOON / 10 && atomic_load(&last_ended) != process; i++)
        usleep(10000);
    return atomic_load(&last_ended) == process;
}

static pid_t start_child(void)
{
    pid_t pid = fork();

    cr_assert_geq(pid, 0);
    while (pid == 0)
        pause();
    return pid;
}

static void kill_child(pid_t pid)
{
    cr_assert(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
}

/* As an older kernel, or a filter, has it. */
static void refuse_pidfd_open(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { ARRAY_SIZE(code), code };

    cr_assert(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    cr_assert(syscall(SYS_pidfd_open, getpid(), 0) < 0 && errno == ENOSYS);
}

static void *wait_for_ever(void *arg)
{
    for (;;)
        pause();
    return arg;
}

/* A process whose first thread has ended, but not all. */
static pid_t start_headless(void)
{
    pid_t pid = fork();
    pthread_t thread;

    cr_assert_geq(pid, 0);
    if (pid > 0)
        return pid;
    if (pthread_create(&thread, NULL, wait_for_ever, NULL) == 0)
        pthread_exit(NULL);
    _exit(1);
}

Test(processes, ends_are_noticed)
{
    struct processes *processes = start();
    pid_t child = start_child();
    uint64_t number = processes_of(processes, child);

    cr_assert_neq(number, 0);
    cr_assert_eq(processes_of(processes, child), number);
    cr_assert_neq(processes_of(processes, getpid()), number);
    kill_child(child);
    cr_expect(ends_soon(number));
    cr_expect_eq(processes_ended(processes), 1);
    processes_free(processes);
}

Test(processes, ends_that_nobody_tells)
{
    struct processes *processes;
    pid_t child, headless;
    uint64_t number, living;

    refuse_pidfd_open();
    processes = start();
    headless = start_headless();
    child = start_child();
    number = processes_of(processes, child);
    usleep(100000);
    living = processes_of(processes, headless);
    cr_assert(number != 0 && living != 0);
    usleep(3 * PROCESSES_TICK * 1000);
    cr_expect_eq(processes_ended(processes), 0, "one of them is thought to have ended");
    kill_child(child);
    cr_expect(ends_soon(number));
    cr_assert_eq(kill(headless, SIGKILL), 0); /* and nobody waits for it yet: it stays a zombie */
    cr_expect(ends_soon(living));
    cr_assert_eq(waitpid(headless, NULL, 0), headless);
    processes_free(processes);
}

/* The kernel's number of a process that has ended is another one's now. */
static pid_t start_child_as(pid_t pid)
{
    struct clone_args args = { .exit_signal = SIGCHLD, .set_tid = (uint64_t) (uintptr_t) &pid, .set_tid_size = 1 };
    pid_t child = (pid_t) syscall(SYS_clone3, &args, sizeof args);

    while (child == 0)
        pause();
    return child;
}

Test(processes, numbers_that_are_used_again)
{
    struct processes *processes = start();
    struct sections *sections = sections_new(NULL);
    pid_t child = start_child();
    uint64_t number = sections_process(sections, processes, child), again;

    cr_assert_neq(number, 0);
    cr_assert_eq(sections_process(sections, processes, child), number);
    kill_child(child);
    cr_assert(ends_soon(number));
    usleep(20000); /* two ticks of the clock that start times have */
    if (start_child_as(child) != child)
        cr_skip_test("the kernel does not let us choose numbers");
    again = sections_process(sections, processes, child);
    cr_expect(again != 0 && again != number);
    kill_child(child);
    cr_expect(ends_soon(again));
    sections_free(sections);
    processes_free(processes);
}

static void *tell_identity(void *arg)
{
    cr_assert_eq(process_identify((pid_t) syscall(SYS_gettid), arg), 0);
    return NULL;
}

Test(processes, threads_of_a_process_are_it_and_its_child_is_not)
{
    struct process_identity self, thread, child;
    pthread_t other;
    pid_t pid;

    cr_assert_eq(prctl(PR_SET_NAME, "a (b) c"), 0);
    cr_assert_eq(process_identify(getpid(), &self), 0);
    cr_expect_eq(self.pid, getpid());
    cr_expect_gt(self.started, 0);
    cr_expect_str_eq(self.name, "a (b) c");
    cr_assert_eq(pthread_create(&other, NULL, tell_identity, &thread), 0);
    pthread_join(other, NULL);
    cr_expect(thread.pid == self.pid && thread.started == self.started);
    pid = start_child();
    cr_assert_eq(process_identify(pid, &child), 0);
    cr_expect(child.pid == pid && child.started >= self.started);
    kill_child(pid);
    cr_expect_lt(process_identify(pid, &child), 0);
    cr_expect_lt(process_identify(0, &child), 0);
}
