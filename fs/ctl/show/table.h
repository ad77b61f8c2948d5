/* SPDX-License-Identifier: MIT */
/* Tables for people and for scripts, by libsmartcols, with the options that users of lsblk and findmnt know, and sizes
 * that people can read:
 *
 *     fallsctl df -o DISK,PATH,FREE            fallsctl df -b -o PATH,FREE --raw --noheadings
 *
 *     DISK  PATH         FREE                  /mnt/d0 1974124412928
 *     d0    /mnt/d0      1.8T                  /mnt/my\x20disk 2199023255552
 *     d1    /mnt/my disk 2.0T */
#ifndef FALLSFS_FS_CTL_SHOW_TABLE_H
#define FALLSFS_FS_CTL_SHOW_TABLE_H

#include "fs/ctl/talk/args.h"

#include <stdio.h>

#define TABLE_MAX_SHOWN 64 /* columns */
#define SIZE_TEXT       32

enum column_kind {
    COLUMN_LEFT,
    COLUMN_RIGHT,
    COLUMN_CUT, /* left, and cut where a terminal is too narrow for it */
};

struct column {
    const char *name; /* its heading; several may have the same */
    enum column_kind kind;
};

/* What the command line says of the tables of a verb. */
struct table_options {
    const char *columns; /* NULL: the usual ones */
    bool no_headings, raw;
};

#define TABLE_ARGS 3
void table_args(struct table_options *options, struct arg arg[static TABLE_ARGS]);

#define TABLE_USAGE "[-o LIST] [--noheadings] [--raw]"
#define TABLE_HELP                                                                                                     \
    "  -o LIST         these columns, as NAME,NAME; with a + in front, these after the usual ones\n"                   \
    "  --noheadings    the table alone: no headings, nothing else around it\n"                                         \
    "  --raw           the same with headings, for scripts: cells stand one blank apart, \\x20 is a blank in a cell, " \
    "and\n"                                                                                                            \
    "                  - an empty one\n"

/* Whether there are all columns that the options ask for; else says which columns there are, and *ret_status is how the
 * program ends. */
bool table_check(const struct table_options *options, const char *verb, const struct column column[], size_t n_columns,
                 enum ctl_status *ret_status);

/* Whether nothing but rows is wanted: the verb then prints no lines for people around them. */
static inline bool table_is_alone(const struct table_options *options)
{
    return options->no_headings || options->raw;
}

struct libscols_table;
struct libscols_line;

struct table {
    const struct column *column;
    size_t n_columns, shown[TABLE_MAX_SHOWN], n_shown;
    size_t at; /* the column of the next cell */
    struct libscols_table *scols;
    struct libscols_line *line; /* that it is in */
    bool raw, has_headings;
    bool failed; /* out of memory: nothing will be printed */
};

/* usual lists the columns that are shown unless the options say which; NULL: all are. options may be NULL. */
void table_init(struct table *table, const struct column column[], size_t n_columns, const char *usual,
                const struct table_options *options);
void table_done(struct table *table);

/* Fill the next cell, row by row, in all columns, shown or not. What a terminal would obey is shown as '?'. */
void table_add(struct table *table, const char *text);
PRINTF_LIKE(2, 3) void table_addf(struct table *table, const char *fmt, ...);

int table_print(struct table *table, FILE *out);

/* A size as 3.6T, in powers of 1024; raw: with all digits. */
const char *size_text(uint64_t bytes, bool raw, char text[static SIZE_TEXT]);

#endif
