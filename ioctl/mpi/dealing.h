/* SPDX-License-Identifier: MIT */
/* What is read through a view whose stream goes back in the file: its filetype overlaps itself, or its tiles do. Files
 * that nobody writes may have such views. The daemon is asked for each byte once, in file order, and what comes is
 * dealt out from there:
 *
 *     stream       2 3 4 | 3 4 5 | 8        as the view has it
 *     pieces       (2,4) (8,1)              what the daemon is asked for
 *     comes        b2 b3 b4 b5 b8
 *     dealt out    b2 b3 b4 b3 b4 b5 b8
 */
#ifndef FALLSFS_IOCTL_MPI_DEALING_H
#define FALLSFS_IOCTL_MPI_DEALING_H

#include "ioctl/client/fallsfs.h"
#include "ioctl/mpi/typemap.h"

#define DEALING_MAX_RUNS (UINT64_C(1) << 18) /* of the stream at a time: what is needed for them is 6 MiB */

struct dealing {
    const struct typemap *typemap; /* of the view */
    uint64_t from, len;            /* of its stream */
    uint64_t max_runs;
    struct fallsfs_ioc_piece *pieces; /* of fallsfs_alloc */
    uint64_t n;
    uint64_t *before; /* bytes before each piece */
    uint64_t bytes;   /* of all pieces */
};

/* Has room for as much as so many bytes of the stream may need at a time; NULL: there is not enough memory. */
struct dealing *dealing_new(const struct typemap *typemap, uint64_t bytes);
void dealing_free(struct dealing *dealing);

/* Makes the pieces of as many of the len bytes from there on as there is room for, in no more than max_runs runs, if
 * that is not 0; how many bytes of the stream that is. */
uint64_t dealing_take(struct dealing *dealing, uint64_t from, uint64_t len, uint64_t max_runs);

/* Deals out what has come for the pieces, up to the first byte of the stream that is not below end: to memory, from the
 * at-th byte of its own stream on. How many bytes of the stream that is. */
uint64_t dealing_scatter(const struct dealing *dealing, int64_t end, const uint8_t *came, const struct typemap *memory,
                         uint8_t *buf, uint64_t at);

#endif
