/* SPDX-License-Identifier: MIT */
#include "fs/daemon/closing.h"

#include "fs/daemon/kernel/connection_guard.h"
#include "fs/daemon/serve/kernel_cache.h"
#include "fs/daemon/serve/mount.h"

#include <signal.h>
#include <time.h>

#define WAKE  SIGUSR2 /* wakes the thread that serves */
#define STOP  SIGUSR1 /* wakes the thread that listens */
#define PAUSE 10      /* ms between two looks */
#define STUCK 100     /* looks after which a thread that is not done is taken to wait for what nobody serves */

struct closing {
    struct fuse_session *session;
    struct collect *collect;
    pid_t *guard;
    uint64_t timeout; /* looks; 0: no bound */
    pthread_t server, thread;
    sigset_t signals, before;
    atomic_bool stop;
};

static bool pause_or_signal(const sigset_t *signals)
{
    const struct timespec time = { 0, PAUSE * 1000000 };

    return sigtimedwait(signals, NULL, &time) > 0;
}

static void finish_rounds(struct closing *closing)
{
    collect_close(closing->collect);
    for (uint64_t n = 0; (!collect_is_idle(closing->collect) || kernel_is_forgetting()) &&
                         (closing->timeout == 0 || n < closing->timeout);
         n++)
        if (pause_or_signal(&closing->signals))
            return;
}

static void *close_when_asked(void *arg)
{
    struct closing *closing = arg;
    int number;

    while (sigwait(&closing->signals, &number) != 0)
        ;
    if (!atomic_load(&closing->stop))
        finish_rounds(closing);
    fuse_session_exit(closing->session);
    for (unsigned n = 1; !atomic_load(&closing->stop); n++) { /* the server may be just about to wait */
        (void) pthread_kill(closing->server, WAKE);
        (void) pause_or_signal(&closing->signals);
        if (n == STUCK && kernel_forgets_no_more())
            connection_guard_act(closing->guard);
    }
    return NULL;
}

static void wake(int number)
{
    (void) number;
}

/* Chooses the signals that end the mount: those that were not ignored when the daemon was started, as nohup(1) ignores
 * one; and STOP, which ends the listening. */
static void choose_signals(sigset_t *ret_signals)
{
    static const int numbers[] = { SIGHUP, SIGINT, SIGTERM };
    struct sigaction action;

    sigemptyset(ret_signals);
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
        if (sigaction(numbers[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(ret_signals, numbers[i]);
    sigaddset(ret_signals, STOP);
}

int closing_start(struct fuse_session *session, struct collect *collect, pid_t *guard, uint32_t timeout,
                  struct closing **ret_closing)
{
    const struct sigaction action = { .sa_handler = wake };
    struct closing *closing = calloc(1, sizeof *closing);
    int r;

    if (closing == NULL)
        return -ENOMEM;
    closing->session = session;
    closing->collect = collect;
    closing->guard = guard;
    closing->timeout = (uint64_t) timeout * 1000 / PAUSE;
    closing->server = pthread_self();
    choose_signals(&closing->signals);
    (void) sigaction(WAKE, &action, NULL);
    pthread_sigmask(SIG_BLOCK, &closing->signals, &closing->before);
    r = pthread_create(&closing->thread, NULL, close_when_asked, closing);
    if (r != 0) {
        pthread_sigmask(SIG_SETMASK, &closing->before, NULL);
        free(closing);
        return -r;
    }
    *ret_closing = closing;
    return 0;
}

void closing_end(struct closing *closing)
{
    if (closing == NULL)
        return;
    atomic_store(&closing->stop, true);
    (void) pthread_kill(closing->thread, STOP);
    pthread_join(closing->thread, NULL);
    pthread_sigmask(SIG_SETMASK, &closing->before, NULL);
    free(closing);
}
