/* SPDX-License-Identifier: MIT */
/* One line that strace -f -ttt -yy wrote, taken apart in place:
 *
 *     26611 1795145505.430049 pread64(3</tmp/f>, ""..., 1000, 40) = 1000
 *     pid   at                name    arg[0]     arg[1]  [2]  [3]   ret
 *
 *     26611 1795145505.43 pread64(3</tmp/f>,  <unfinished ...>          a call that others' lines interrupt:
 *     26611 1795145505.44 <... pread64 resumed>""..., 1000, 40) = 1000  both texts together are the call
 *
 * Names of files have '<' and '>' escaped, so what stands between these two is the name. */
#ifndef FALLSFS_FS_TRACE_STRACE_LINE_H
#define FALLSFS_FS_TRACE_STRACE_LINE_H

#include "layout/base.h"

#define STRACE_MAX_ARGS 8

enum strace_kind {
    STRACE_NOTHING, /* no line of strace, or of no interest, as signals */
    STRACE_CALL,
    STRACE_UNFINISHED,
    STRACE_RESUMED,
    STRACE_EXIT,
};

struct strace_line {
    enum strace_kind kind;
    bool is_strace; /* it begins as strace's lines do */
    int64_t pid;
    uint64_t at; /* ns since 1970 */
    char *text;  /* of the call, as far as this line has it */
};

struct strace_call {
    char *name;
    char *arg[STRACE_MAX_ARGS];
    size_t n_args;
    int64_t ret;
    char *ret_text;
};

/* A descriptor with the name of its file; path NULL: it is none that has a place in the tree, as sockets. */
struct strace_fd {
    int64_t fd;
    char *path;
    bool bare; /* strace has written the number alone */
};

/* Looks what a line is. The text points into it. */
struct strace_line strace_line_of(char *line);

/* Takes a whole call apart; false when it is none that has returned. */
bool strace_parse_call(char *text, struct strace_call *ret_call);

/* Reads "3</tmp/a\40file>", in place. False: it is no descriptor. */
bool strace_parse_fd(char *arg, struct strace_fd *ret_fd);

/* Reads a number that is all of an argument. */
bool strace_parse_number(const char *arg, int64_t *ret_number);

#endif
