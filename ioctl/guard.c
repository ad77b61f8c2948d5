/* SPDX-License-Identifier: MIT */
#include "ioctl/guard.h"

#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

static _Thread_local sigjmp_buf *way_out;

/* Whoever stands between the kernel and this, as the thread sanitizer does, may have blocked signals meanwhile: they
 * stay blocked behind a jump, and the next SIGBUS of the thread would end the process. */
static void handle(int signal, siginfo_t *info, void *context)
{
    struct sigaction action = { .sa_handler = SIG_DFL };

    (void) info;
    if (way_out != NULL) {
        pthread_sigmask(SIG_SETMASK, &((const ucontext_t *) context)->uc_sigmask, NULL);
        siglongjmp(*way_out, 1);
    }
    /* Not ours: it comes again, and ends the process as it would have without us. */
    sigaction(signal, &action, NULL);
}

int guard_init(void)
{
    struct sigaction action = { .sa_sigaction = handle, .sa_flags = SA_NODEFER | SA_SIGINFO };

    sigemptyset(&action.sa_mask);
    return sigaction(SIGBUS, &action, NULL) < 0 ? -errno : 0;
}

int guard_run(void (*run)(void *arg), void *arg)
{
    sigjmp_buf here;
    int r = 0;

    /* No mask is kept here, which would be a system call each time: handle sets the one there was. */
    if (sigsetjmp(here, 0) == 0) {
        way_out = &here;
        run(arg);
    } else {
        r = -EFAULT;
    }
    way_out = NULL;
    return r;
}
