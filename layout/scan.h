/* SPDX-License-Identifier: MIT */
/* The words and numbers of the notation, and where in the text a mistake is. Used by the two halves of the parser only:
 * falls_parse.c for what stands in braces, layout_parse.c for the named kinds and the rest. */
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

void scanner_done(struct scanner *scanner);

/* Says what is wrong at a byte of the text; returns r. */
PRINTF_LIKE(4, 5) int fail(struct scanner *scanner, int r, size_t at, const char *fmt, ...);
int fail_expected(struct scanner *scanner, const char *what);
int out_of_memory(struct scanner *scanner);

void skip_blanks(struct scanner *scanner);

/* The next byte that is not blank; 0 at the end. */
char peek(struct scanner *scanner);
bool accept(struct scanner *scanner, char c);
int expect(struct scanner *scanner, char c);

/* How long the word that starts here is; 0 when there is none. */
size_t word_len(struct scanner *scanner);
bool accept_word(struct scanner *scanner, const char *word);

/* int[K|M|G|T] up to FALLS_LIMIT; the second refuses 0. */
int parse_size(struct scanner *scanner, uint64_t *ret_size);
int parse_positive(struct scanner *scanner, const char *what, uint64_t *ret_size);

/* d0, d1, ... */
int parse_disk(struct scanner *scanner, uint32_t *ret_disk);

int check_text(struct scanner *scanner);
bool at_end(struct scanner *scanner);

/* falls_parse.c: "{" element { ";" element } "}" from the byte after the brace on; the elements then become the
 * layout's pattern once its displacement is known. */
struct element_spec;
int parse_elements(struct scanner *scanner, struct layout *layout, struct element_spec **ret_elements);
int build_falls(struct scanner *scanner, struct layout *layout, const struct element_spec *elements, size_t start);

/* Proves and builds the pattern of n lists of parts; what is wrong with it is said at its FALLS, or at start. */
int build_pattern(struct scanner *scanner, struct layout *layout, struct part *const list[], uint32_t n, size_t start);

#endif
