/* SPDX-License-Identifier: MIT */
/* A trace as it lies in memory, wherever it came from:
 *
 *     trace_read.h    a file of fallsfs   ──┐
 *                                           ├──>  files, processes, patterns; accesses that name them by index
 *     trace_strace.h  what strace wrote   ──┘
 *
 * Accesses stand as they stood in the source, which need not be the order of their times. */
#ifndef FALLSFS_FS_TRACE_TRACE_H
#define FALLSFS_FS_TRACE_TRACE_H

#include "ioctl/trace/trace_format.h"
#include "layout/falls.h"

#include <stdio.h>

#define TRACE_MAX_ACCESSES (1u << 25) /* in memory at a time: 2 GiB of them */
#define TRACE_NOBODY       UINT32_MAX /* the index of the kernel, of no file, of no pattern */
#define TRACE_WHY          256        /* bytes of a reason */

struct traced_file {
    uint32_t number;
    char *path, *layout; /* the layout may be empty */
    uint64_t inode, size;
};

struct traced_process {
    uint32_t number, uid, tgid;
    uint32_t ranked; /* its rank in MPI_COMM_WORLD and 1; 0: it has none */
    uint64_t start;
    char *name;
};

struct traced_pattern {
    uint32_t number;
    char *text;
};

struct traced_access {
    uint64_t offset, len;
    uint64_t at;                     /* ns since the trace began */
    uint32_t process, file, pattern; /* numbers while the trace is being read, then indices */
    uint32_t took, group, rank;
    uint16_t how, flags; /* enum trace_how, enum trace_access_flag */
    uint16_t sampled;    /* it stands for so many; 0: for itself */
};

struct trace {
    uint64_t began;
    uint32_t flags;        /* enum trace_flag */
    uint32_t n_ranks;      /* of an MPI program; 0: it is of none */
    bool cut;              /* the source ended within an item */
    uint64_t dropped;      /* accesses that are known to be missing */
    uint64_t open_already; /* handles whose accesses may be missing */
    struct traced_file *file;
    struct traced_process *process;
    struct traced_pattern *pattern;
    struct traced_access *access;
    size_t n_files, n_processes, n_patterns, n_accesses;
};

/* Reads a trace of either kind, which its first bytes tell. -EBADMSG it is neither, or damaged; -E2BIG, -ENOMEM, -EIO:
 * ret_why says what and where. */
int trace_load(FILE *in, struct trace *ret_trace, char ret_why[static TRACE_WHY]);
void trace_done(struct trace *trace);

/* Each takes its texts, which the caller has allocated; with NULL for one of them, and without memory, it frees them
 * and returns -ENOMEM. */
int trace_add_file(struct trace *trace, struct traced_file file);
int trace_add_process(struct trace *trace, struct traced_process process);
int trace_add_pattern(struct trace *trace, struct traced_pattern pattern);

/* -E2BIG: there are TRACE_MAX_ACCESSES already. */
int trace_add_access(struct trace *trace, const struct traced_access *access);

/* Replaces the numbers in accesses by indices, TRACE_NOBODY for 0. -EBADMSG when something is named that was never
 * introduced, or introduced twice. */
int trace_resolve(struct trace *trace, char ret_why[static TRACE_WHY]);

/* Writes the reason, and returns r. */
PRINTF_LIKE(3, 4) int trace_refuse(char why[static TRACE_WHY], int r, const char *fmt, ...);

#endif
