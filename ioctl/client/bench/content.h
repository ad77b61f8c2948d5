/* SPDX-License-Identifier: MIT */
/* What files are filled with, so that every wrong byte is seen: each word of 4 bytes is a hash of its place and of the
 * generation, which is 0 in a new file and another number for each one who writes. */
#ifndef FALLSFS_IOCTL_CLIENT_BENCH_CONTENT_H
#define FALLSFS_IOCTL_CLIENT_BENCH_CONTENT_H

#include "ioctl/client/bench/deal.h"

void content_fill(void *buf, uint64_t file_off, uint64_t len, uint32_t generation);

/* A section as it lies in memory. */
void content_fill_section(void *buf, const struct fallsfs_array *array, const struct fallsfs_range section[],
                          uint32_t generation);

/* Where in the file the first wrong byte belongs; UINT64_MAX: none is wrong. */
uint64_t content_check_section(const void *buf, const struct fallsfs_array *array, const struct fallsfs_range section[],
                               uint32_t generation);

/* The whole file, generation 0. 0 or -errno. */
int content_make_file(const char *path, const struct fallsfs_array *array);

/* The whole file: that generation in the sections of all processes, 0 elsewhere, and not a byte more. 0; -EIO, with
 * *ret_wrong the offset of the first wrong byte; another -errno. */
int content_check_file(const char *path, const struct fallsfs_array *array, const struct deal *deal, uint32_t nranks,
                       uint32_t generation, uint64_t *ret_wrong);

#endif
