/* SPDX-License-Identifier: MIT */
/* A section of an array in the order of the file, line by line: n pieces of len bytes, stride bytes apart.
 *
 *     rows 0:6:2, columns 1:2 of 8 x 4 bytes, column-major      file_off 8, len 1, stride 2, n 4
 *                                                               file_off 16, likewise
 */
#ifndef FALLSFS_IOCTL_CLIENT_BENCH_PIECES_H
#define FALLSFS_IOCTL_CLIENT_BENCH_PIECES_H

#include "ioctl/client/fallsfs.h"

struct pieces_line {
    uint64_t file_off, len, stride, n;
};

struct pieces {
    struct pieces_line line; /* the next one */
    uint32_t n_outer;
    struct {
        uint64_t count, step, done; /* step: bytes in the file */
    } outer[FALLSFS_MAX_DIMS];
    bool ended;
};

/* The section must lie in the array; an empty one has no line. */
void pieces_init(struct pieces *pieces, const struct fallsfs_array *array, const struct fallsfs_range section[]);
bool pieces_next(struct pieces *pieces, struct pieces_line *ret_line);

/* Bytes of an array and its header, and of a section. */
uint64_t pieces_file_bytes(const struct fallsfs_array *array);
uint64_t pieces_bytes(const struct fallsfs_array *array, const struct fallsfs_range section[]);
uint64_t pieces_count(const struct fallsfs_array *array, const struct fallsfs_range section[]);

#endif
