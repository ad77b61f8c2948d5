/* SPDX-License-Identifier: MIT */
/* Which trace, and which files of it, a command line means: a trace and names of files in it, or files on a mount and
 * what that has recorded of them. */
#ifndef FALLSFS_FS_CTL_THINK_SOURCE_H
#define FALLSFS_FS_CTL_THINK_SOURCE_H

#include "fs/ctl/ask/attrs.h"
#include "fs/trace/trace.h"

struct source_file {
    uint32_t file;      /* its index in the trace */
    const char *called; /* as the caller has called it; NULL: not at all */
};

struct source {
    struct trace trace;
    struct source_file *file;
    size_t n; /* 1 at least */
};

static inline void source_done(struct source *source)
{
    trace_done(&source->trace);
    free(source->file);
    *source = (struct source){ 0 };
}

/* Reads the trace at path and finds the files that the names mean, or, where path is no trace but a file on a mount,
 * what the mount has recorded, that file and others named. Without names it is the file with most bytes moved, or all.
 * ret_why says why not. */
int source_pick(const char *path, char *const name[], size_t n_names, bool all, struct source *ret_source,
                char ret_why[static ATTRS_WHY]);

/* Reads the trace at path. */
int source_load(const char *path, struct trace *ret_trace, char ret_why[static ATTRS_WHY]);

/* Finds the file that a name means, by its index: the file of that path, or of a path that ends like it; of several, or
 * without a name, the one with most bytes moved. -ENOENT: no accesses to such a file are in the trace. */
int source_find(const struct trace *trace, const char *name, uint32_t *ret_file);

/* Bytes that a file's accesses move, for each file of a trace; NULL without memory. */
uint64_t *source_moved(const struct trace *trace);

#endif
