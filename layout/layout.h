/* SPDX-License-Identifier: MIT */
/* A layout is what a user writes: a pattern in the notation, and the disks it is for. One parser and one printer serve
 * config, xattrs, the command line, the log and the tests.
 *
 *     layout  := kind [ "disp" SIZE ] [ "on" disks ] [ "copies" N ]
 *     kind    := one | stripe(unit [,n]) | var(u0,u1,...) | twod(unit,groups,factor) | array(...) | { element ; ... }
 *     array   := array( shape=8192x8192, elem=8, order=row|col, dist=(block|cyclic[(k)]|*, ...), grid=2x2 )
 *     element := [disk ":"] falls { "," falls } | "()"    falls := "(" l,r,s,n [ ";" d,p ] [ ", {" falls,... "}" ] ")"
 *     disks   := d0,d2-d5 | pool:NAME | all               "()" is an element that no byte belongs to
 *     SIZE    = int[K|M|G|T]; N = 1 | 2; blanks are free; # begins a comment, which ends with its line
 *
 * With copies 2 each byte lies on two disks. Which byte belongs to which element does not change by that. */
#ifndef FALLSFS_LAYOUT_LAYOUT_H
#define FALLSFS_LAYOUT_LAYOUT_H

#include "layout/dist.h"
#include "layout/pattern.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LAYOUT_ANY_DISK UINT32_MAX /* the volume chooses */
#define LAYOUT_MAX_DISK 65535
#define LAYOUT_MAX_NAME 64
#define LAYOUT_MAX_TYPE 16
#define LAYOUT_COPIES   2 /* at most */

enum layout_kind {
    LAYOUT_ONE,
    LAYOUT_STRIPE,
    LAYOUT_VAR,
    LAYOUT_TWOD,
    LAYOUT_ARRAY,
    LAYOUT_FALLS,
};

enum layout_disks {
    DISKS_ANY, /* nothing said */
    DISKS_LIST,
    DISKS_POOL,
    DISKS_ALL,
};

struct layout {
    char *text;   /* as typed */
    size_t on_at; /* in it, where the part that names disks starts, or would */
    enum layout_kind kind;
    uint64_t disp;
    uint64_t unit, groups, factor;
    uint64_t n; /* elements; 0: as many as there are disks */
    uint64_t *var_unit;
    struct dist_array array;
    struct pattern *pattern; /* NULL while n is 0 */
    uint32_t *element_disk;  /* of raw FALLS with a disk before an element, for each; else NULL */
    enum layout_disks disks;
    uint32_t n_disks, *disk; /* of DISKS_LIST */
    char pool[LAYOUT_MAX_NAME];
    uint32_t copies;  /* of each byte, on as many disks: 1 or 2 */
    size_t copies_at; /* in the text, where that number is, if it is there */
};

struct layout_error {
    size_t line, column; /* from 1; line is 0 when the text has only one */
    char why[224];       /* what is wrong and what would be right */
};

/* -EINVAL notation, -ERANGE gap or overlap, -E2BIG or -EOVERFLOW a limit, -ENOMEM. n_disks is how many disks a layout
 * that names no number is spread over; with 0 such a layout is only checked and gets no pattern. */
int layout_parse(const char *text, size_t len, uint32_t n_disks, struct layout **ret_layout,
                 struct layout_error *ret_error);
void layout_free(struct layout *layout);
void layout_freep(struct layout **layout);

/* The bytes of memory that a layout takes. */
size_t layout_bytes(const struct layout *layout);

/* The layout's text as it was typed, but with other disks, such as " on d0-d3", or without the part that names disks.
 * NULL without memory. */
char *layout_with_disks(const struct layout *layout, const char *disks);
char *layout_without_disks(const struct layout *layout);

/* Whether a list of disks names two that differ, as two copies want it. */
bool layout_lists_two(const uint32_t disk[], uint32_t n);

/* Parses a set of nested FALLS alone, "{ falls, ... }". */
int nest_parse(const char *text, size_t len, struct nest **ret_nest, struct layout_error *ret_error);

/* Parses what the bytes of a file mean, "shape=8192x8192 elem=8 type=f8 order=row header=512": all but shape can be
 * left out. The type is one that numpy has, and may begin with a byte order: >f8. Without elem an element is as large
 * as the type says, or 1 byte. ret_type is the type as written, or empty. Errors as layout_parse. */
int layout_parse_array(const char *text, size_t len, struct array *ret_array, char ret_type[LAYOUT_MAX_TYPE],
                       struct layout_error *ret_error);

/* Whether it is a type as numpy writes it, of a size that numpy has. */
bool layout_is_type(const char *word);

/* Prints such a text, with all that is known; type may be empty. */
void layout_print_array(FILE *out, const struct array *array, const char *type);

/* Parses a SIZE that is all of a word, as command lines have it: -EINVAL, or -EOVERFLOW beyond FALLS_LIMIT. */
int layout_parse_size(const char *word, uint64_t *ret_size);

/* Prints "column 14: why", with the number of the line before it where the text has several. */
void layout_error_print(FILE *out, const struct layout_error *error);

/* Prints the canonical form, in FALLS; of a layout without pattern its kind and numbers. Parsing it again gives the
 * same. */
void layout_print(FILE *out, const struct layout *layout);
void nest_print(FILE *out, const struct nest *nest);

/* What layout_print prints, as a text to be freed; NULL without memory. */
char *layout_canonical(const struct layout *layout);

/* Prints a size as 64K where that is exact, else with all digits. */
void layout_print_size(FILE *out, uint64_t size);

#ifdef __cplusplus
}
#endif

#endif
