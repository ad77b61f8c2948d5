/* SPDX-License-Identifier: MIT */
#include "fs/daemon/pipes.h"

#include "layout/base.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void close_pipe(struct pipe *pipe)
{
    if (pipe->from >= 0)
        close(pipe->from);
    if (pipe->to >= 0)
        close(pipe->to);
    *pipe = (struct pipe){ .from = -1, .to = -1 };
}

static void end_pipe(void *arg)
{
    close_pipe(arg);
    free(arg);
}

static void make_key(void)
{
    (void) pthread_key_create(&key, end_pipe);
}

static void open_pipe(struct pipe *pipe)
{
    int fd[2];

    if (pipe2(fd, O_CLOEXEC) < 0)
        return;
    pipe->from = fd[0];
    pipe->to = fd[1];
    if (fcntl(pipe->to, F_SETPIPE_SZ, 2 * MAX_PIPED) < 0)
        close_pipe(pipe);
}

static struct pipe *new_pipe(void)
{
    struct pipe *pipe = malloc(sizeof *pipe);

    if (pipe == NULL || pthread_setspecific(key, pipe) != 0) {
        free(pipe);
        return NULL;
    }
    *pipe = (struct pipe){ .from = -1, .to = -1 };
    open_pipe(pipe);
    return pipe;
}

/* What is left in one is not worth taking out. */
struct pipe *pipe_empty(void)
{
    struct pipe *pipe;

    pthread_once(&once, make_key);
    pipe = pthread_getspecific(key);
    if (pipe == NULL) {
        pipe = new_pipe();
    } else if (pipe->held > 0) {
        close_pipe(pipe);
        open_pipe(pipe);
    }
    return pipe != NULL && pipe->to >= 0 ? pipe : NULL;
}
