/* SPDX-License-Identifier: MIT */
/* What of a trace concerns a file, or the files below a directory, while it streams by:
 *
 *     head │ FILE 1 run7/a │ FILE 2 other │ PROCESS 1 │ ACCESS of 2 by 1 │ ACCESS of 1 by 1 │ ...     below run7:
 *     head │ FILE 1 run7/a                                               │ PROCESS 1 │ ACCESS of 1 by 1 │ ...
 *
 * Processes and patterns are told when an access that is wanted names them. Whose accesses are missing nobody knows:
 * their numbers stay. Items that are not known do, too. */
#ifndef FALLSFS_FS_TRACE_TRACE_BELOW_H
#define FALLSFS_FS_TRACE_TRACE_BELOW_H

#include <stdio.h>

struct trace_below;

/* path: below the mount point, as traces have paths. -ENOMEM. */
int trace_below_new(const char *path, struct trace_below **ret_below);
void trace_below_free(struct trace_below *below);

/* Takes what follows, cut anywhere, and writes what is wanted of it, as far as items are whole. -EBADMSG: that is no
 * trace, -ENOMEM. */
int trace_below_take(struct trace_below *below, const void *bytes, size_t len, FILE *out);

#endif
