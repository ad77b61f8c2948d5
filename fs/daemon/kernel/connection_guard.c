/* SPDX-License-Identifier: MIT */
#include "fs/daemon/kernel/connection_guard.h"

#include "fs/daemon/kernel/mountpoint.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define DAEMON_ENDED SIGUSR1

/* Closes all that the guard has inherited from the daemon, so that it keeps neither the connection nor any disk
 * busy. */
static void let_go(void)
{
    (void) close_range(0, ~0u, 0);
    (void) !chdir("/");
    (void) prctl(PR_SET_NAME, "fallsfs-guard");
}

_Noreturn static void watch(const char *mountpoint, dev_t dev, pid_t daemon, const sigset_t *all)
{
    int number;

    let_go();
    /* The signal is blocked, so it is not lost before sigwait; if the daemon had ended before prctl, getppid shows
     * that. */
    if (prctl(PR_SET_PDEATHSIG, DAEMON_ENDED) == 0 && getppid() == daemon)
        while (sigwait(all, &number) != 0 || number != DAEMON_ENDED)
            ;
    mountpoint_abort(mountpoint, dev);
    _exit(0);
}

int connection_guard_start(const char *mountpoint, pid_t *ret_guard)
{
    sigset_t all, before;
    pid_t daemon = getpid(), guard;
    dev_t dev;

    if (!mountpoint_device(mountpoint, &dev))
        return -ENOENT;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    guard = fork();
    if (guard == 0)
        watch(mountpoint, dev, daemon, &all);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (guard < 0)
        return -errno;
    *ret_guard = guard;
    return 0;
}

static void end(pid_t *guard, int number)
{
    if (*guard == 0)
        return;
    (void) kill(*guard, number);
    while (waitpid(*guard, NULL, 0) < 0 && errno == EINTR)
        ;
    *guard = 0;
}

void connection_guard_act(pid_t *guard)
{
    end(guard, DAEMON_ENDED);
}

void connection_guard_end(pid_t *guard)
{
    end(guard, SIGKILL);
}
