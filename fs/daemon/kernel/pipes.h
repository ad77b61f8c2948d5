/* SPDX-License-Identifier: MIT */
/* Pipes that bytes go through to the kernel without being copied, one for each thread that serves. */
#ifndef FALLSFS_FS_DAEMON_KERNEL_PIPES_H
#define FALLSFS_FS_DAEMON_KERNEL_PIPES_H

#include <stddef.h>
#include <stdint.h>

/* The most and the least bytes to be sent through a pipe. Any user may have pipes of 1 MiB, of which libfuse wants some
 * pages for a header, and what does not begin with a page needs one more. Less than MIN_PIPED is copied more quickly.
 */
#define MAX_PIPED (1 << 19)
#define MIN_PIPED (1 << 16)

struct pipe {
    int from, to;
    size_t held; /* bytes in it */
};

/* Allows n pipes at most. To be called before there are any. */
void pipes_limit(uint32_t n);

/* The pipe of this thread, with nothing in it; NULL: it can have none. */
struct pipe *pipe_empty(void);

#endif
