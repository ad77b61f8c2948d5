/* SPDX-License-Identifier: MIT */
/* The words and numbers of the notation, and where in the text a mistake is. Used by the two halves of the parser:
 * falls_parse.c for what stands in braces, layout_parse.c for the named kinds and the rest; and by array_parse.c. */
#ifndef FALLSFS_LAYOUT_SCAN_H
#define FALLSFS_LAYOUT_SCAN_H

#include "layout/layout.h"

struct scanner {
    const char *text;
    size_t len, at;
    struct draft draft;
    size_t *origin_at; /* where each FALLS of the outermost level was written */
    uint32_t n_origins;
    struct layout_error *error;
};

void scan_done(struct scanner *scanner);

/* Says what is wrong at a byte of the text; returns r. */
PRINTF_LIKE(4, 5) int scan_fail(struct scanner *scanner, int r, size_t at, const char *fmt, ...);
int scan_fail_expected(struct scanner *scanner, const char *what);
int scan_out_of_memory(struct scanner *scanner);

void scan_blanks(struct scanner *scanner);

/* The next byte that is not blank; 0 at the end. */
char scan_peek(struct scanner *scanner);
bool scan_accept(struct scanner *scanner, char c);
int scan_expect(struct scanner *scanner, char c);

/* The length of the word at the scanner's place; 0 when there is none. */
size_t scan_word_len(struct scanner *scanner);
bool scan_accept_word(struct scanner *scanner, const char *word);

/* Both parse int[K|M|G|T] up to FALLS_LIMIT; scan_positive refuses 0, and says what the number is. */
int scan_size(struct scanner *scanner, uint64_t *ret_size);
int scan_positive(struct scanner *scanner, const char *what, uint64_t *ret_size);

/* Parses the name of a disk: d0, d1, ... */
int scan_disk(struct scanner *scanner, uint32_t *ret_disk);

/* Parse the sizes of up to ARRAY_MAX_DIMS dimensions, 8192x8192, and an order, row or col. */
int scan_extents(struct scanner *scanner, const char *what, uint64_t extent[], uint32_t *ret_n);
int scan_order(struct scanner *scanner, enum array_order *ret_order);

/* Parses NAME=, where the name is one of a list of n that may each be given once. expected is what the error says was
 * expected where there is none; seen and at belong to the names: which were given, and where their values start. */
int scan_key(struct scanner *scanner, const char *const name[], unsigned n, const char *expected, bool seen[],
             size_t at[], unsigned *ret_key);

int scan_check_text(struct scanner *scanner);
bool scan_at_end(struct scanner *scanner);

/* falls_parse.c parses "{" element { ";" element } "}" from the byte after the brace on; falls_build_pattern then makes
 * the layout's pattern of the elements, once its displacement is known. */
struct element_spec;
int falls_parse_elements(struct scanner *scanner, struct layout *layout, struct element_spec **ret_elements);
int falls_build_pattern(struct scanner *scanner, struct layout *layout, const struct element_spec *elements,
                        size_t start);

/* Proves and builds the pattern of n lists of parts; what is wrong with it is said at its FALLS, or at start. */
int scan_build_pattern(struct scanner *scanner, struct layout *layout, struct part *const list[], uint32_t n,
                       size_t start);

#endif
