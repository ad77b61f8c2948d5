/* SPDX-License-Identifier: MIT */
/* Taps what programs do with files of a mount, for a while. What somebody has traced already is left as it is, and
 * listened to.
 *
 *     of the mount   ... ACCESS ACCESS │ ACCESS ACCESS ACCESS │ ACCESS ...
 *                                    begin                   end
 *     the trace                          ACCESS ACCESS ACCESS
 */
#ifndef FALLSFS_FS_CTL_THINK_TRACE_TAP_H
#define FALLSFS_FS_CTL_THINK_TRACE_TAP_H

#include "fs/ctl/ask/attrs.h"
#include "fs/trace/trace.h"

struct trace_tap {
    int from, kept;  /* the stream of the mount, and what came of it */
    size_t n_before; /* accesses that came before */
    bool is_open;
    char **path, **joined; /* that are traced for us, and for others */
    uint32_t n_paths, n_joined;
    bool was_stopped; /* a trace of others has ended meanwhile: what came after that is missing */
};

/* Has a file traced, unless it is. All files of a tap lie in one mount; they belong to the user, or he is root. */
int trace_tap_add(struct trace_tap *tap, const char *path, char ret_why[static ATTRS_WHY]);

/* Begins to listen to the mount that a path lies in. */
int trace_tap_begin(struct trace_tap *tap, const char *path, char ret_why[static ATTRS_WHY]);

/* Takes what has come, so that it need not be kept by the mount. */
int trace_tap_take(struct trace_tap *tap, char ret_why[static ATTRS_WHY]);

/* Ends the traces that were begun, and gives what has come since trace_tap_begin. */
int trace_tap_end(struct trace_tap *tap, struct trace *ret_trace, char ret_why[static ATTRS_WHY]);

/* Whatever went wrong, no trace that was begun goes on. */
void trace_tap_done(struct trace_tap *tap);

#endif
