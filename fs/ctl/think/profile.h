/* SPDX-License-Identifier: MIT */
/* What a trace says of one file, worked out: who touches what, how that is called, how well a layout serves it, and
 * which layouts the paper's partition would give.
 *
 *     trace ──> touches ──> chunks ──> classes, partition ──> proposed layouts
 *                      └──> extents ──> shapes; with a layout: fit */
#ifndef FALLSFS_FS_CTL_THINK_PROFILE_H
#define FALLSFS_FS_CTL_THINK_PROFILE_H

#include "fs/ctl/ask/attrs.h"
#include "fs/learn/fit.h"
#include "fs/learn/propose.h"
#include "fs/learn/shape.h"

#define PROFILE_UNIT (UINT64_C(1) << 20) /* of stripes, where nobody touched a file */

/* What the command line says beside the trace. */
struct profile_options {
    const char *layout; /* NULL: the one in the trace */
    const char *array;  /* what the bytes mean; NULL: what the layout says */
    uint32_t n_disks;   /* 0: those that the layout names */
};

struct profile_class {
    uint64_t bytes, chunks;
};

/* A layout and how well it fits. */
struct profile_layout {
    char *text;            /* NULL: there is none */
    struct layout *layout; /* with its pattern; NULL: nobody knows how many disks it is spread over */
    struct fit fit;
    bool is_counted; /* fit is there: else it has too many pieces */
    uint32_t n_disks;
    uint64_t *moved; /* bytes, of each disk */
};

struct profile {
    const struct traced_file *file;
    struct touches touches;
    struct chunks chunks;
    struct extents read, written;
    struct profile_class class[CHUNK_CLASSES];
    uint64_t *phases; /* of each rank: how often it goes back to what lies before, and once more */
    struct shapes reads, writes;
    bool knows_array;
    struct array array;
    struct profile_layout now;
    struct proposal proposal[PARTITION_FIGURE + 1];
    struct profile_layout proposed[PARTITION_FIGURE + 1]; /* text NULL: there is no such layout */
};

/* A trace, and the file of it that is asked about: by its index, and as the caller has called it; NULL: not at all. */
struct profile_source {
    struct trace trace;
    uint32_t file;
    const char *called;
};

/* Reads the trace at path and finds the file that name means, or, where path is no trace but a file on a mount, what
 * the mount has recorded, and that file. The texts belong to the caller. ret_why says why not, and which. */
int profile_pick(const char *path, const char *name, struct profile_source *ret_source, char ret_why[static ATTRS_WHY]);

static inline void profile_source_done(struct profile_source *source)
{
    trace_done(&source->trace);
}

/* Finds the file that a name means, by its index: the file of that path, or of a path that ends like it; of several, or
 * without a name, the one with most bytes moved. -ENOENT: no accesses to such a file are in the trace. */
int profile_find(const struct trace *trace, const char *name, uint32_t *ret_file);

/* Bytes that a file's accesses move, for each file of a trace; NULL without memory. */
uint64_t *profile_moved(const struct trace *trace);

/* Works out the profile of a file. -ENODATA nothing of it is touched, -EINVAL the options are wrong, -ENOMEM: ret_why
 * says why. */
int profile_init(struct profile *profile, const struct trace *trace, uint32_t file,
                 const struct profile_options *options, char ret_why[static ATTRS_WHY]);
void profile_done(struct profile *profile);

/* How much more the disk that moves most moves than all do on average: 1 is even. */
double profile_balance(const struct profile_layout *layout);

#endif
