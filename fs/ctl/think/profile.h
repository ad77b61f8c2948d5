/* SPDX-License-Identifier: MIT */
/* What a trace says of one file, worked out: who touches what, how that is called, how well a layout serves it, and
 * which layouts the paper's partition would give.
 *
 *     trace ──> touches ──> chunks ──> classes, partition ──> proposed layouts
 *                  │   └──> extents ──> shapes; with a layout: fit
 *                  └ or those of other numbers of processes, or another size, that follow from them (foretell.h) */
#ifndef FALLSFS_FS_CTL_THINK_PROFILE_H
#define FALLSFS_FS_CTL_THINK_PROFILE_H

#include "fs/ctl/ask/attrs.h"
#include "fs/learn/fit.h"
#include "fs/learn/predict.h"
#include "fs/learn/propose.h"
#include "fs/learn/shape.h"

#define PROFILE_UNIT (UINT64_C(1) << 20) /* of stripes, where nobody touched a file */

/* What the command line says beside the trace. */
struct profile_options {
    const char *layout; /* NULL: the one in the trace */
    const char *array;  /* what the bytes mean; NULL: what the layout says */
    uint32_t n_disks;   /* 0: those that the layout names */
    uint32_t procs;     /* what so many processes would do; 0: as many as were traced */
    const char *size;   /* of the file then, in bytes, or the shape of its array; NULL: the same */
    const char *also;   /* a second trace, of another number of processes or another size; NULL: there is none */
    enum growth growth; /* which rule holds; GROWTHS: nobody says */
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
    uint64_t size; /* of the file, or its last byte touched */
    struct touches touches;
    bool is_predicted, is_rounded, by_bytes; /* touches were not traced but follow; and as of fs/learn/predict.h */
    bool by_chance;                          /* what is read: fs/learn/chance.h */
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

/* Works out the profile of a file. -ENODATA nothing of it is touched, -EINVAL the options are wrong, -ENOMEM: ret_why
 * says why. */
int profile_init(struct profile *profile, const struct trace *trace, uint32_t file,
                 const struct profile_options *options, char ret_why[static ATTRS_WHY]);

/* The same of touches that came from elsewhere, which it takes. file is where its path, size and layout stand. */
int profile_init_of(struct profile *profile, const struct traced_file *file, struct touches *touches,
                    const struct profile_options *options, char ret_why[static ATTRS_WHY]);
void profile_done(struct profile *profile);

/* Collects the touches of a file; patterns whose layouts name no disks are thought to be for n_disks. -ENOMEM. */
int profile_touches(struct touches *touches, const struct trace *trace, uint32_t file, uint32_t n_disks);

/* How much more the disk that moves most moves than all do on average: 1 is even. */
double profile_balance(const struct profile_layout *layout);

#endif
