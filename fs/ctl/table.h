/* SPDX-License-Identifier: MIT */
/* A table for people: columns as wide as their widest cell, and sizes they can read. */
#ifndef FALLSFS_FS_CTL_TABLE_H
#define FALLSFS_FS_CTL_TABLE_H

#include "layout/base.h"

#include <stdio.h>

#define TABLE_MAX_COLUMNS 12
#define SIZE_TEXT         32

struct table {
    const char *align; /* a letter per column: l left, r right */
    size_t n_columns, n_cells, room;
    char **cell;
    bool failed; /* out of memory: nothing will be printed */
};

void table_init(struct table *table, const char *align);
void table_done(struct table *table);

/* The next cell, row by row. What a terminal would obey is shown as '?'. */
void table_add(struct table *table, const char *text);
PRINTF_LIKE(2, 3) void table_addf(struct table *table, const char *fmt, ...);

int table_print(const struct table *table, FILE *out);

/* 3.6T in powers of 1024; raw: all digits. */
const char *size_text(uint64_t bytes, bool raw, char text[static SIZE_TEXT]);

#endif
