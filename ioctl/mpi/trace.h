/* SPDX-License-Identifier: MIT */
/* What each rank asks of its files, as a trace: with FALLSFS_MPI_TRACE=DIR each process writes a part of its own, and
 * nobody tells anybody anything. Who reads them puts the parts together by paths and ranks:
 *
 *     rank 0 ── read_at_all through a view ──>  DIR/rank.0    file │ process, rank 0 │ pattern: the view │ access ...
 *     rank 1 ── read_at_all through a view ──>  DIR/rank.1    file │ process, rank 1 │ pattern: the view │ access ...
 *
 * It tells of what was asked for, and not of how it was served: a rank's access is one, whoever reads for it. Files
 * that are the MPI's are in it, too: their views are remembered for that, and the MPI is asked for their pointers,
 * which it answers by itself. Only at a shared pointer nobody knows where an access is: it is counted as missing. */
#ifndef FALLSFS_IOCTL_MPI_TRACE_H
#define FALLSFS_IOCTL_MPI_TRACE_H

#include "ioctl/mpi/file.h"

/* Whether the environment asks for a trace, and it can be written. */
bool mtrace_is_wanted(void);

/* Steady time; 0: nobody wants to know. */
uint64_t mtrace_now(void);

/* A file was opened, and will be closed. */
void mtrace_open(struct file *file, const char *path);
void mtrace_close(struct file *file);

/* A call that moves data, from its beginning on. */
struct mtrace_call {
    uint64_t began;    /* 0: nobody wants to know */
    struct view *view; /* with a reference; NULL: it is not known which bytes are meant */
    uint64_t at;       /* of the view's stream */
};

/* Of a file that is the MPI's: how has bits of enum access, offset is what the call says. */
struct mtrace_call mtrace_begin_theirs(struct file *file, unsigned how, MPI_Offset offset);

/* The call is over and has moved bytes, or has failed to. Gives the view back. */
void mtrace_end(struct file *file, struct mtrace_call *call, unsigned how, uint64_t bytes, bool failed);

#endif
