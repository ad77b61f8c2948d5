/* SPDX-License-Identifier: MIT */
#include "fs/daemon/kernel/connection_guard.h"

#include "fs/daemon/kernel/mountpoint.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define DAEMON_ENDED SIGUSR1

/* Closes all that the guard has inherited from the daemon but one descriptor, so that it keeps neither the connection
 * nor any disk busy. */
static void let_go(int kept)
{
    if (kept > 0)
        (void) close_range(0, (unsigned) kept - 1, 0);
    (void) close_range((unsigned) kept + 1, ~0u, 0);
    (void) !chdir("/");
    (void) prctl(PR_SET_NAME, "fallsfs-guard");
}

/* ready: is told that the guard watches. */
_Noreturn static void watch(const char *mountpoint, dev_t dev, pid_t daemon, const sigset_t *all, int ready)
{
    int number, r;

    let_go(ready);
    r = prctl(PR_SET_PDEATHSIG, DAEMON_ENDED);
    if (r == 0)
        (void) !write(ready, "", 1);
    (void) close(ready);
    /* The signal is blocked, so it is not lost before sigwait; if the daemon had ended before prctl, getppid shows
     * that. */
    if (r == 0 && getppid() == daemon)
        while (sigwait(all, &number) != 0 || number != DAEMON_ENDED)
            ;
    mountpoint_abort(mountpoint, dev);
    _exit(0);
}

/* Waits until the guard watches. A daemon of which only the first thread ends before that would never be missed: its
 * child has another one of its threads for a parent then, and no signal comes when that is the one that cannot end. */
static int await_guard(int ready)
{
    char byte;
    ssize_t n;

    do
        n = read(ready, &byte, sizeof byte);
    while (n < 0 && errno == EINTR);
    return n == 1 ? 0 : -ECHILD;
}

int connection_guard_start(const char *mountpoint, pid_t *ret_guard)
{
    sigset_t all, before;
    pid_t daemon = getpid(), guard;
    int ready[2], r;
    dev_t dev;

    if (!mountpoint_device(mountpoint, &dev))
        return -ENOENT;
    if (pipe2(ready, O_CLOEXEC) < 0)
        return -errno;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    guard = fork();
    if (guard == 0)
        watch(mountpoint, dev, daemon, &all, ready[1]);
    r = guard < 0 ? -errno : 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void) close(ready[1]);
    if (r == 0) {
        *ret_guard = guard;
        r = await_guard(ready[0]);
    }
    (void) close(ready[0]);
    return r;
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
