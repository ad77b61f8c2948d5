/* SPDX-License-Identifier: MIT */
#include "fs/daemon/warden.h"

#include "fs/daemon/mountpoint.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define DAEMON_ENDED SIGUSR1

/* Nothing that the daemon has open stays open here: not its connection, not its disks. */
static void let_go(void)
{
    (void) close_range(0, ~0u, 0);
    (void) !chdir("/");
    (void) prctl(PR_SET_NAME, "fallsfs-warden");
}

_Noreturn static void watch(const char *mountpoint, dev_t dev, pid_t daemon, const sigset_t *all)
{
    int number;

    let_go();
    /* The signal is blocked, so it cannot come too early; what had happened before it was asked for is seen here. */
    if (prctl(PR_SET_PDEATHSIG, DAEMON_ENDED) == 0 && getppid() == daemon)
        while (sigwait(all, &number) != 0 || number != DAEMON_ENDED)
            ;
    mountpoint_abort(mountpoint, dev);
    _exit(0);
}

int warden_start(const char *mountpoint, pid_t *ret_warden)
{
    sigset_t all, before;
    pid_t daemon = getpid(), warden;
    dev_t dev;

    if (!mountpoint_device(mountpoint, &dev))
        return -ENOENT;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    warden = fork();
    if (warden == 0)
        watch(mountpoint, dev, daemon, &all);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (warden < 0)
        return -errno;
    *ret_warden = warden;
    return 0;
}

static void end(pid_t *warden, int number)
{
    if (*warden == 0)
        return;
    (void) kill(*warden, number);
    while (waitpid(*warden, NULL, 0) < 0 && errno == EINTR)
        ;
    *warden = 0;
}

void warden_act(pid_t *warden)
{
    end(warden, DAEMON_ENDED);
}

void warden_end(pid_t *warden)
{
    end(warden, SIGKILL);
}
