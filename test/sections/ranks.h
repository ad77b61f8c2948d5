/* SPDX-License-Identifier: MIT */
/* Processes that are ranks of a group, and what becomes of them. A check runs in a directory of the mount's. */
#ifndef FALLSFS_TEST_SECTIONS_RANKS_H
#define FALLSFS_TEST_SECTIONS_RANKS_H

#include "test/mount/posix.h"

#include <fallsfs.h>
#include <stdatomic.h>

#define MAX_RANKS 64
#define SIDE      64 /* of the square of ints that ranks share row by row */

extern const struct check checks_of_boards[], checks_of_members[], checks_of_requests[], checks_of_equality[],
    checks_of_views[], checks_of_lists[], checks_of_tickets[], checks_through_views[], checks_of_arrays[],
    checks_of_spread[];

/* What a rank's process tells; results start as NOT_YET. */
#define NOT_YET 1

struct told {
    atomic_int result;
    atomic_uint_least64_t when; /* ms */
    char words[512];
};

/* Shared by all processes of a check. */
struct stage {
    uint8_t token[16];
    uint32_t n;
    struct fallsfs_hints hints;
    atomic_uint n_joined, n_asking;
    atomic_bool go;
    struct told told[MAX_RANKS];
};

struct stage *stage_new(uint32_t n, uint32_t timeout_ms);

uint64_t now_ms(void);

/* The file of the check, opened anew. */
int open_shared(int flags);

/* Takes the rank, with a file of its own. */
struct fallsfs_group *join_as(struct stage *stage, uint32_t rank);

/* The rank's part of the array: every n-th row. */
int read_rows(struct stage *stage, struct fallsfs_group *group, uint32_t rank, int *rows);
int write_rows(struct stage *stage, struct fallsfs_group *group, uint32_t rank, const int *rows);

/* Where the bytes of a section are in the file, in order, found by looking at every element of the array. How many. */
uint32_t list_bytes(const struct fallsfs_array *array, const struct fallsfs_range section[], uint32_t at[]);

/* A process that joins, waits for go if it shall, asks for its rows, tells, and ends. */
pid_t start_rank(struct stage *stage, uint32_t rank, bool waits_for_go);
void tell(struct stage *stage, uint32_t rank, int result);

/* Until the ranks have asked, and most likely wait. */
void until_asking(struct stage *stage, uint32_t n);
void until_joined(struct stage *stage, uint32_t n);

/* Waits for the process to end by itself. */
void until_ended(pid_t pid);

#endif
