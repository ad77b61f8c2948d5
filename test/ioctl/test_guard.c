/* SPDX-License-Identifier: MIT */
#include "ioctl/guard.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096

static void touch(void *arg)
{
    *(volatile char *) arg = 1;
}

/* Maps a file that has no bytes: there is no memory behind the mapping. */
static char *map_nothing(void)
{
    int fd = memfd_create("test_guard", MFD_CLOEXEC);
    void *addr = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    cr_assert(fd >= 0 && addr != MAP_FAILED);
    close(fd);
    return addr;
}

static struct sigaction ours;

static void stand_between(int signal, siginfo_t *info, void *context)
{
    ours.sa_sigaction(signal, info, context);
}

Test(guard, what_is_there_is_touched)
{
    char byte = 0;

    cr_assert_eq(guard_init(), 0);
    cr_expect_eq(guard_run(touch, &byte), 0);
    cr_expect_eq(byte, 1);
}

Test(guard, what_is_gone_is_an_error_each_time)
{
    char *gone = map_nothing();

    cr_assert_eq(guard_init(), 0);
    for (int i = 0; i < 3; i++)
        cr_expect_eq(guard_run(touch, gone), -EFAULT);
}

/* Such a handler stands between under the thread sanitizer. */
Test(guard, also_behind_a_handler_that_blocks_all_signals)
{
    struct sigaction between = { .sa_sigaction = stand_between, .sa_flags = SA_SIGINFO };
    char *gone = map_nothing();
    sigset_t mask;

    cr_assert_eq(guard_init(), 0);
    sigfillset(&between.sa_mask);
    cr_assert_eq(sigaction(SIGBUS, &between, &ours), 0);
    for (int i = 0; i < 3; i++)
        cr_expect_eq(guard_run(touch, gone), -EFAULT);
    cr_assert_eq(pthread_sigmask(SIG_BLOCK, NULL, &mask), 0);
    cr_expect_eq(sigismember(&mask, SIGBUS), 0);
    cr_expect_eq(sigismember(&mask, SIGUSR2), 0);
}
