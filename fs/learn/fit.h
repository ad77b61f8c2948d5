/* SPDX-License-Identifier: MIT */
/* How well a layout fits what was done with a file. The degree is that of layout/match.h: what a rank reads, and what
 * it writes, stand in the place of asked elements.
 *
 *     rank 0 reads        [0,2) [4,6)
 *     stripe(1,2)         0 1 0 1 0 1          subfile 0 has bytes 0, 2, 4 of the file, subfile 1 the others
 *     runs                [0] [1] [4] [5]      4, where 1 would do
 *
 * The degree is the number of runs over the least possible, one for each rank that reads something and one for each
 * that writes something: 1 is perfect, larger is worse. Beside it stands what all accesses move, element by element. */
#ifndef FALLSFS_FS_LEARN_FIT_H
#define FALLSFS_FS_LEARN_FIT_H

#include "fs/learn/extents.h"
#include "layout/pattern.h"

struct fit_row {
    uint64_t bytes, runs; /* of what one rank touches */
    uint32_t touched;     /* elements that have some of it */
};

/* Reads, or writes. */
struct fit_side {
    uint64_t runs, least;
    struct fit_row *row; /* of each rank */
};

struct fit {
    struct fit_side reads, writes;
    uint32_t n_rows;
    uint32_t n_elements; /* the header is the one behind them */
    uint64_t *moved;     /* bytes of all accesses, of each element and the header */
};

/* reads and writes are the extents of the touches. -E2BIG when there are too many pieces to be counted, -EOVERFLOW past
 * FALLS_LIMIT, -ENOMEM. */
int fit_init(struct fit *fit, const struct pattern *pattern, const struct touches *touches, const struct extents *reads,
             const struct extents *writes);
void fit_done(struct fit *fit);

static inline double fit_side_degree(const struct fit_side *side)
{
    return side->least > 0 ? (double) side->runs / (double) side->least : 1;
}

static inline double fit_degree(const struct fit *fit)
{
    const struct fit_side both = { fit->reads.runs + fit->writes.runs, fit->reads.least + fit->writes.least, NULL };

    return fit_side_degree(&both);
}

#endif
