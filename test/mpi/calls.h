/* SPDX-License-Identifier: MIT */
/* What the parts of calls.c share: single things that a program with several ranks may do. */
#ifndef FALLSFS_TEST_MPI_CALLS_H
#define FALLSFS_TEST_MPI_CALLS_H

#include "layout/base.h"

#include <mpi.h>
#include <stdio.h>

extern int rank, n_ranks;
extern const char *path;

#define WANT(what)                                                                \
    do {                                                                          \
        if (!(what)) {                                                            \
            fprintf(stderr, "rank %d, line %d: not %s\n", rank, __LINE__, #what); \
            return false;                                                         \
        }                                                                         \
    } while (0)

int class_of(int r);

/* To be read and written, made if need be; with that hint, unless key is NULL. */
MPI_File open_file(MPI_Comm comm, const char *key, const char *value);

/* Every n_ranks-th block of so many bytes is this rank's. */
void set_turns(MPI_File file, int block);

uint8_t value_at(int of_rank, size_t i);

/* -- forms.c -- */

bool large(void);    /* the functions with large counts */
bool handlers(void); /* error handlers of files */
bool overlaps(void); /* views that overlap, to read */
bool hinted(void);   /* by FALLSFS_TEST_HINTS, KEY=VALUE,...: strided accesses, by all and alone (FALLSFS_TEST_ALONE) */
bool disabled(void); /* by hint */
bool no_layout(void); /* a layout that there is not */
bool many(void);      /* more files than there are groups for */

#endif
