/* SPDX-License-Identifier: MIT */
#include "ioctl/guard.h"

#include <setjmp.h>
#include <signal.h>
#include <string.h>

static _Thread_local sigjmp_buf *way_out;

static void handle(int signal)
{
    struct sigaction action = { .sa_handler = SIG_DFL };

    if (way_out != NULL)
        siglongjmp(*way_out, 1);
    /* Not ours: it comes again, and ends the process as it would have without us. */
    sigaction(signal, &action, NULL);
}

int guard_init(void)
{
    struct sigaction action = { .sa_handler = handle, .sa_flags = SA_NODEFER };

    sigemptyset(&action.sa_mask);
    return sigaction(SIGBUS, &action, NULL) < 0 ? -errno : 0;
}

int guard_run(void (*run)(void *arg), void *arg)
{
    sigjmp_buf here;
    int r = 0;

    /* The mask is as it was, since nothing is blocked while the signal is handled. */
    if (sigsetjmp(here, 0) == 0) {
        way_out = &here;
        run(arg);
    } else {
        r = -EFAULT;
    }
    way_out = NULL;
    return r;
}
