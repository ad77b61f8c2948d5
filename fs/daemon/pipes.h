/* SPDX-License-Identifier: MIT */
/* Pipes that bytes go through to the kernel without being copied, one for each thread that serves. */
#ifndef FALLSFS_FS_DAEMON_PIPES_H
#define FALLSFS_FS_DAEMON_PIPES_H

#include <stddef.h>

/* What a pipe takes that any user may have: 1 MiB, of which libfuse wants some pages for a header, and what does not
 * begin with a page needs one more. Less than that is copied more quickly. */
#define MAX_PIPED (1 << 19)
#define MIN_PIPED (1 << 16)

struct pipe {
    int from, to;
    size_t held; /* bytes in it */
};

/* This thread's, with nothing in it; NULL when it can have none. */
struct pipe *pipe_empty(void);

#endif
