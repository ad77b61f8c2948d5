/* SPDX-License-Identifier: MIT */
#include "fs/daemon/kernel/pipes.h"

#include "ioctl/per_thread.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_uint n_pipes, max_pipes = UINT32_MAX;

void pipes_limit(uint32_t n)
{
    atomic_store(&max_pipes, n);
}

static void close_pipe(struct pipe *pipe)
{
    if (pipe->to >= 0)
        atomic_fetch_sub(&n_pipes, 1);
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

PER_THREAD(pipe_key, end_pipe)

static void open_pipe(struct pipe *pipe)
{
    int fd[2];

    if (atomic_fetch_add(&n_pipes, 1) >= atomic_load(&max_pipes) || pipe2(fd, O_CLOEXEC) < 0) {
        atomic_fetch_sub(&n_pipes, 1);
        return;
    }
    pipe->from = fd[0];
    pipe->to = fd[1];
    if (fcntl(pipe->to, F_SETPIPE_SZ, 2 * MAX_PIPED) < 0)
        close_pipe(pipe);
}

static struct pipe *new_pipe(void)
{
    struct pipe *pipe = malloc(sizeof *pipe);

    if (pipe == NULL || pthread_setspecific(pipe_key, pipe) != 0) {
        free(pipe);
        return NULL;
    }
    *pipe = (struct pipe){ .from = -1, .to = -1 };
    open_pipe(pipe);
    return pipe;
}

/* Makes a pipe anew when bytes are left in it, which is cheaper than reading them out. */
struct pipe *pipe_empty(void)
{
    struct pipe *pipe = pthread_getspecific(pipe_key);

    if (pipe == NULL) {
        pipe = new_pipe();
    } else if (pipe->held > 0) {
        close_pipe(pipe);
        open_pipe(pipe);
    }
    return pipe != NULL && pipe->to >= 0 ? pipe : NULL;
}
