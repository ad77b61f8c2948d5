/* SPDX-License-Identifier: MIT */
/* A section as PASSION's calls tell it: of an array, and where in memory.
 *
 *     AccessArray { { 0, 4, 2 }, { 1, 2, 1 } }, Index { 1, 1 }, memory of 4 x 3
 *
 *         . a b .             . . .
 *         . . . .             . a b
 *         . c d .      ──>    . c d
 *         . . . .             . e f
 *         . e f .
 */
#ifndef FALLSFS_IOCTL_CLIENT_PASSION_SECTION_H
#define FALLSFS_IOCTL_CLIENT_PASSION_SECTION_H

#include "ioctl/client/passion/pfile.h"

struct section {
    int fd;
    struct fallsfs_group *group; /* NULL: alone */
    bool write;
    struct array array;
    struct fallsfs_array what; /* the same, with as many indexes as its file has room for */
    struct fallsfs_range range[ARRAY_MAX_DIMS];
    struct box memory, place; /* all of it, and what of it the section takes */
    uint64_t bytes;
    bool is_dense; /* in memory */
};

/* room is how many indexes the file has, of which the array may be the first ones. Index may be NULL: from 0 on. */
int section_init(struct section *section, const struct array *array, const uint64_t room[], const struct box *memory,
                 const int64_t index[], const int64_t access[][3]);

/* Where in Array its bytes are, or where they are first, if they have holes there and use staging. */
uint8_t *section_bytes(const struct section *section, char *Array, uint8_t *staging);
void section_gather(const struct section *section, const char *Array, uint8_t *staging);
void section_scatter(const struct section *section, char *Array, const uint8_t *staging);

/* Reads or writes it, and waits. */
int section_run(const struct section *section, uint8_t *bytes);

#endif
