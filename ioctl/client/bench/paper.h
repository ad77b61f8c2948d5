/* SPDX-License-Identifier: MIT */
/* The sections of Tables 1 to 8 of Thakur and Choudhary, An extended two-phase method for accessing sections of
 * out-of-core arrays: of a square array of 4-byte elements, stored column by column. */
#ifndef FALLSFS_IOCTL_CLIENT_BENCH_PAPER_H
#define FALLSFS_IOCTL_CLIENT_BENCH_PAPER_H

#include "ioctl/client/fallsfs.h"

struct paper_case {
    uint32_t table;
    char name[8]; /* in its table; where a table reads and writes a section, the one that writes ends with w */
    bool write;
    char section[48]; /* deal.h: rows, columns */
};

extern const struct paper_case paper_cases[];
extern const size_t paper_n_cases;

/* 4096, and 16384 in Table 8. */
struct fallsfs_array paper_array(const struct paper_case *c);

/* "5" names all of Table 5, "5/I" one case. */
bool paper_is_named(const struct paper_case *c, const char *word);

#endif
