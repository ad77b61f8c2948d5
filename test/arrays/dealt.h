/* SPDX-License-Identifier: MIT */
/* A random array that is dealt out to processes, and who has which element, found by looking at every index. */
#ifndef FALLSFS_TEST_ARRAYS_DEALT_H
#define FALLSFS_TEST_ARRAYS_DEALT_H

#include "test/arrays/files.h"

#include <passion.h>

#define DEALT_MAX_PROCS 12
#define DEALT_MAX_DIMS  4
#define DEALT_MAX_SIZE  64

struct dealt {
    struct fallsfs_array array; /* with the header */
    int size[DEALT_MAX_DIMS], distribution[DEALT_MAX_DIMS][2], nprocs[DEALT_MAX_DIMS];
    int icla[DEALT_MAX_DIMS][2], overlap[DEALT_MAX_DIMS][2];
    int ocla[DEALT_MAX_DIMS]; /* 0 unless dealt_leave_room was called */
    uint32_t n;               /* processes */
    struct part {
        uint64_t size[DEALT_MAX_DIMS];
        uint64_t whole[DEALT_MAX_DIMS][DEALT_MAX_SIZE]; /* the index in the array, of each in the part */
    } part[DEALT_MAX_PROCS];
};

void dealt_make(struct dealt *dealt, struct rng *rng);

/* For as many processes as there are, whatever the random grid would have. */
void dealt_make_for(struct dealt *dealt, struct rng *rng, uint32_t n);

/* Has files of parts have room for more than the parts. */
void dealt_leave_room(struct dealt *dealt, struct rng *rng);

/* The sizes of the array that lies in the file of a part. */
void dealt_room(const struct dealt *dealt, uint32_t p, uint64_t ret_size[]);

/* The same as an OCAD. */
OCAD *dealt_ocad(const struct dealt *dealt);

/* The sizes of the memory that sections of process p are in. */
void dealt_memory(const struct dealt *dealt, uint32_t p, uint64_t ret_size[]);

#endif
