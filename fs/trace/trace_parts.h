/* SPDX-License-Identifier: MIT */
/* What the ranks of an MPI program have written, each a part of its own, put together:
 *
 *     DIR/rank.0    file 1: /d/m    process 1, rank 0    accesses   ──┐
 *     DIR/rank.1    file 1: /d/m    process 1, rank 1    accesses   ──┼──>  one trace: /d/m, processes 1, 2, 3, ...
 *     DIR/rank.2    file 1: /d/m    process 1, rank 2    accesses   ──┘
 *
 * Files are one that have the same path and inode. Numbers are dealt out anew, times are counted from the earliest. */
#ifndef FALLSFS_FS_TRACE_TRACE_PARTS_H
#define FALLSFS_FS_TRACE_TRACE_PARTS_H

#include "fs/trace/trace.h"

/* As trace_load, of all parts in a directory; a rank that has none opened no file, or could not write it. -ENOENT:
 * there is none. -EBADMSG: they are of several runs, too. */
int trace_load_parts(const char *directory, struct trace *ret_trace, char ret_why[static TRACE_WHY]);

#endif
