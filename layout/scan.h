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
    uint32_t n_origins, room;
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

/* How long the word that starts here is; 0 when there is none. */
size_t scan_word_len(struct scanner *scanner);
bool scan_accept_word(struct scanner *scanner, const char *word);

/* int[K|M|G|T] up to FALLS_LIMIT; the second refuses 0. */
int scan_size(struct scanner *scanner, uint64_t *ret_size);
int scan_positive(struct scanner *scanner, const char *what, uint64_t *ret_size);

/* d0, d1, ... */
int scan_disk(struct scanner *scanner, uint32_t *ret_disk);

/* 8192x8192, up to ARRAY_MAX_DIMS; row or col */
int scan_extents(struct scanner *scanner, const char *what, uint64_t extent[], uint32_t *ret_n);
int scan_order(struct scanner *scanner, enum array_order *ret_order);

/* NAME= of a list of n, each given once; expected: what is said where there is none. seen and at belong to the names.
 */
int scan_key(struct scanner *scanner, const char *const name[], unsigned n, const char *expected, bool seen[],
             size_t at[], unsigned *ret_key);

int scan_check_text(struct scanner *scanner);
bool scan_at_end(struct scanner *scanner);

/* falls_parse.c: "{" element { ";" element } "}" from the byte after the brace on; the elements then become the
 * layout's pattern once its displacement is known. */
struct element_spec;
int falls_parse_elements(struct scanner *scanner, struct layout *layout, struct element_spec **ret_elements);
int falls_build_pattern(struct scanner *scanner, struct layout *layout, const struct element_spec *elements,
                        size_t start);

/* Proves and builds the pattern of n lists of parts; what is wrong with it is said at its FALLS, or at start. */
int scan_build_pattern(struct scanner *scanner, struct layout *layout, struct part *const list[], uint32_t n,
                       size_t start);

#endif
