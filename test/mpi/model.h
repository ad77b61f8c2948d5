/* SPDX-License-Identifier: MIT */
/* A file of MPI's as the standard words it, byte by byte and slowly: what libraries are held against.
 *
 *     byte k of a view  ──>  disp + (k / bytes of a tile) * extent + off[k % bytes of a tile]
 */
#ifndef FALLSFS_TEST_MPI_MODEL_H
#define FALLSFS_TEST_MPI_MODEL_H

#include "test/mpi/type_maker.h"

struct model {
    int fd;
    int64_t disp, extent;
    int etype_size;
    const struct made *tile; /* NULL: bytes one after the other */
    uint64_t position;       /* bytes of the view */
};

bool model_open(struct model *model, const char *path);
void model_close(struct model *model);

/* tile stays the caller's. */
void model_view(struct model *model, int64_t disp, int etype_size, const struct made *tile, int64_t extent);

int64_t model_offset(const struct model *model, uint64_t k);
int64_t model_position(const struct model *model); /* etypes */

/* whence: 0 from the start, 1 from where it is, 2 from the end. MPI_ERR_ARG: before the start. */
int model_seek(struct model *model, int64_t to, int whence);

int64_t model_size(const struct model *model);
void model_set_size(struct model *model, int64_t size, bool shrink);

/* count of a type at buf; at: in etypes, or -1 for the individual pointer. How many bytes were moved: up to the end of
 * the file, the first time that it is met. */
int64_t model_move(struct model *model, bool write, int64_t at, uint8_t *buf, int count, const struct made *type);

#endif
