/* SPDX-License-Identifier: MIT */
/* What array a file holds, as its own header says.
 *
 *     a.npy         "\x93NUMPY" { 'descr': '<f8', 'fortran_order': False, 'shape': (3, 4) } | 12 elements
 *     b.nc:temp     "CDF" dimensions, attributes, variables { name, dimensions, type, begin } | ... | temp | ...
 *     c.h5:/u/temp  "\211HDF" whatever libhdf5 finds, if fallsfs was built with it
 *
 *     shape=3x4 elem=8 type=<f8 order=row header=128
 *
 * Headers are anybody's: what they say is believed as far as an array can be, and no further. An array has to lie in
 * one piece: what is in records, chunks or compressed is refused. */
#ifndef FALLSFS_FS_CTL_ASK_ARRAY_HEADER_H
#define FALLSFS_FS_CTL_ASK_ARRAY_HEADER_H

#include "fs/ctl/ask/attrs.h"
#include "layout/layout.h"

struct array_header {
    struct array array;
    char type[LAYOUT_MAX_TYPE]; /* empty: none that numpy has a short name for */
    const char *unsaid;         /* what the header says and the attribute cannot; NULL: nothing */
};

/* Reads the header of a file that is open to be read. dataset names one of its arrays; NULL: it has no other. -EINVAL
 * it cannot be read so, -EOPNOTSUPP it is of no known format, other errors of the system; ret_why says why. */
int array_header_read(FILE *file, const char *dataset, struct array_header *ret_header, char ret_why[static ATTRS_WHY]);

/* The same of a file by its path, FILE or FILE:DATASET; the file's path is ret_path, to be freed. HDF5 files are read,
 * too, by a process of their own. */
int array_header_of(const char *word, char **ret_path, struct array_header *ret_header, char ret_why[static ATTRS_WHY]);

/* -- of each format; the file is at its start -- */

int array_header_npy(FILE *file, struct array_header *ret_header, char ret_why[static ATTRS_WHY]);
int array_header_netcdf(FILE *file, const char *dataset, struct array_header *ret_header,
                        char ret_why[static ATTRS_WHY]);

/* Checks and completes what a format's reader has found: 0, or -EINVAL. */
int array_header_check(struct array_header *header, char ret_why[static ATTRS_WHY]);

#endif
