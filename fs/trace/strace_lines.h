/* SPDX-License-Identifier: MIT */
/* The lines of a file, one after the other, and those that are to come, for who must know what follows:
 *
 *     file   line 7 │ line 8 │ line 9 │ line 10 │ line 11 ...
 *               ▲       └─── ahead ───┘    ▲
 *              next     0        1         read from the file when somebody looks as far ahead
 */
#ifndef FALLSFS_FS_TRACE_STRACE_LINES_H
#define FALLSFS_FS_TRACE_STRACE_LINES_H

#include "layout/base.h"

#include <stdio.h>

#define STRACE_MAX_LINE  (64 << 10) /* bytes */
#define STRACE_MAX_AHEAD (64 << 20) /* bytes of lines that one may look ahead */

struct strace_lines {
    FILE *in;
    char *buf;
    char **ahead; /* from first on */
    size_t first, n_ahead, bytes_ahead;
    uint64_t n_long; /* lines that were too long, and came as empty ones */
    bool is_trace;   /* the caller knows that it is one: lines may be as long as they like */
};

/* -ENOMEM. */
int strace_lines_init(struct strace_lines *lines, FILE *in);
void strace_lines_done(struct strace_lines *lines);

/* Gives the next line, which the caller may change, until he asks for another: 1, 0 there is none, -ENOMEM, -EIO. */
int strace_lines_next(struct strace_lines *lines, char **ret_line);

/* Gives the i-th line behind the one that was given last, to be freed: 1, 0 there is none, or it is too far ahead, and
 * as above. */
int strace_lines_peek(struct strace_lines *lines, size_t i, char **ret_line);

#endif
