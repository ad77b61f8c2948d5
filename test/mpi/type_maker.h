/* SPDX-License-Identifier: MIT */
/* Random datatypes of MPI, and what they mean, byte by byte: each constructor is expanded as the standard words it,
 * with MPI's own word for the extents of what is inside alone.
 *
 *     MPI_Type_vector(2, 1, 3, MPI_SHORT)     off 0 1 6 7
 */
#ifndef FALLSFS_TEST_MPI_TYPE_MAKER_H
#define FALLSFS_TEST_MPI_TYPE_MAKER_H

#include "test/support/rng.h"

#include <mpi.h>

#define MADE_MAX_BYTES 4096
#define MADE_MAX_REACH 20000 /* offsets and extents, either way */

struct made {
    MPI_Datatype type;
    bool predefined;
    int64_t extent;
    size_t n;                    /* bytes */
    int32_t off[MADE_MAX_BYTES]; /* of each, in the order of the type */
    char words[1024];            /* how it was made */
};

enum made_for {
    MADE_FOR_MEMORY,  /* any order, any offsets that are not negative after a shift */
    MADE_FOR_FILES,   /* ascending, from 0 or more on, tiles that do not interleave */
    MADE_FOR_READING, /* not negative, and no run begins before the one it follows: they, and tiles, may overlap */
    MADE_TAME, /* those for files, of few constructors and without large counts: what the MPIs' own files survive */
};

/* A type of at most so many levels, committed. */
void made_make(struct rng *rng, unsigned depth, enum made_for what_for, struct made *ret_made);
void made_free(struct made *made);

#endif
