/* SPDX-License-Identifier: MIT */
/* A square matrix of 4-byte reals in a file, column after column, of which each process of a team moves a block at a
 * time. A block is dense in memory, and pieces in the file, one for each of its columns:
 *
 *     matrix        0 4  8 12          file     0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
 *                   1 5 [9 13]                            block   [9 10]   [13 14]
 *                   2 6 [10 14]
 *                   3 7 11 15
 *
 * direct: each process moves its pieces itself, by pread and pwrite. Otherwise all ask together, and fallsfs gathers
 * the pieces of all of them: then each process of the team makes the same calls in the same order, with an empty block
 * when it wants nothing. */
#ifndef FALLSFS_EXAMPLES_MATRIX_H
#define FALLSFS_EXAMPLES_MATRIX_H

#include "team.h"

#include <fallsfs.h>
#include <stdbool.h>
#include <stdint.h>

/* Rows from row to row_end, which is none of them any more; so are columns. */
struct block {
    uint64_t row, row_end, column, column_end;
};

uint64_t block_rows(struct block block);
uint64_t block_columns(struct block block);
uint64_t block_size(struct block block); /* elements */

/* The i-th of n parts of what is from begin to end: where it begins, which is where the one before it ends. */
uint64_t part_begin(uint64_t begin, uint64_t end, uint64_t i, uint64_t n);
uint64_t part_longest(uint64_t len, uint64_t n);

/* How the processes of a team do their input and output, and how long it took. */
struct io;

/* Of the parent, before team_run; at most max_calls calls for all matrices of a process. before: a command that is run
 * before each call, while all processes wait for it; NULL: none. */
struct io *io_new(const struct team *team, bool direct, const char *before, uint64_t max_calls);

/* Milliseconds of all calls, without what fallsfs_stats says was spent waiting for processes to come. Each process that
 * moves its own pieces meets the others before it does.
 *
 *     rank 0    ── came ═══════════ left                 elapsed: from when all are there, or those who move their own
 *     rank 1       came ......════════════ left          pieces begin, until the last one has left
 *                  |------ elapsed -------|              in_calls: what one process has of ═══, the largest sum
 *
 * On a machine with fewer processors than processes most of those that move their own pieces have to wait, at the dots,
 * for a processor that others do input and output with; elapsed tells that. */
struct io_time {
    double elapsed, in_calls;
};

struct io_time io_time(const struct io *io);

/* What all processes have moved. */
uint64_t io_bytes_read(const struct io *io);
uint64_t io_bytes_written(const struct io *io);

/* Says all of this in a line. memory: bytes of a process, ms: what the program took. */
void io_say(const struct io *io, uint64_t memory, double ms);

struct matrix {
    const char *path;
    uint64_t side;
    uint8_t token[16]; /* of the group that the processes are in */
    /* Of each process: */
    struct io *io;
    uint32_t rank;
    int fd;
    struct fallsfs_group *group;
};

/* Of the parent, before team_run. matrix_make makes the file, or makes it as long as it has to be; the other one wants
 * it to be that. */
void matrix_find(struct matrix *matrix, struct io *io, const char *path, uint64_t side);
void matrix_make(struct matrix *matrix, struct io *io, const char *path, uint64_t side);

/* Of each process, in the same order of matrices. */
void matrix_open(struct matrix *matrix, uint32_t rank, bool writable);
void matrix_close(struct matrix *matrix);

void matrix_read(const struct matrix *matrix, struct block block, float *buf);
void matrix_write(const struct matrix *matrix, struct block block, const float *buf);

/* Zeros, for blocks, which fallsfs reaches without a copy; ends the process when there is no memory. */
float *matrix_alloc(uint64_t n_elements);

#endif
