/* SPDX-License-Identifier: MIT */
/* A pattern is a partition of a file into subfiles: element i is a set of nested FALLS, stored as subfile i. The sets
 * cover one contiguous region, which repeats through the file from the displacement on:
 *
 *     {(0,1,6,1);(2,3,6,1);(4,5,6,1)} disp 2       file      0 1 2 3 4 5 6 7 8 9 10 11 ...
 *                                                  element   h h 0 0 1 1 2 2 0 0  1  1
 *                                                  sub_off   0 1 0 1 0 1 0 1 2 3  2  3
 *
 * Bytes before the displacement belong to the header subfile, ELEMENT_HEADER. Immutable once built, so threads may
 * share it; mapping allocates nothing. */
#ifndef FALLSFS_LAYOUT_PATTERN_H
#define FALLSFS_LAYOUT_PATTERN_H

#include "layout/cover.h"
#include "layout/nest.h"

#ifdef __cplusplus
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic" /* C++ has no arrays without a size; its compilers have */
extern "C" {
#endif

#define ELEMENT_HEADER UINT32_MAX

struct element {
    struct nest *once; /* within one period, relative to its start */
    struct nest *file; /* all of the file up to FALLS_LIMIT and a little beyond */
};

struct pattern {
    uint64_t disp;
    uint64_t size; /* of one period */
    uint32_t n_elements, n_nodes;
    struct nest *header;
    struct cover *cover;
    struct element element[];
};

/* What is wrong with the elements of a pattern that is none. */
enum pattern_fault {
    PATTERN_FINE,
    PATTERN_OVERLAP,   /* byte is in the FALLS origin[0] and origin[1] */
    PATTERN_GAP,       /* byte is in none; the next that is, next, is in FALLS origin[0] */
    PATTERN_IRREGULAR, /* the members interleave with no period short enough to put them in order */
    PATTERN_TOO_DEEP,
    PATTERN_TOO_LONG, /* displacement and period reach past FALLS_LIMIT */
    PATTERN_EMPTY,
};

struct pattern_error {
    enum pattern_fault fault;
    uint64_t byte, next; /* the first bad byte, from the displacement on */
    uint32_t origin[2];
};

/* Proves that the elements, lists of parts whose leaves name their owners, are a partition, and builds it.
 * -ERANGE gap or overlap, -E2BIG and -EOVERFLOW limits, -EINVAL nothing selected, -ENOMEM. */
int pattern_new(struct draft *draft, struct part *const element[], uint32_t n_elements, uint64_t disp,
                struct pattern **ret_pattern, struct pattern_error *ret_error);
void pattern_free(struct pattern *pattern);

/* The bytes of memory that a pattern takes. */
size_t pattern_bytes(const struct pattern *pattern);
void pattern_freep(struct pattern **pattern);

/* The bytes of an element as a set in file coordinates; NULL when there is no such element. */
static inline const struct nest *pattern_element(const struct pattern *pattern, uint32_t element)
{
    if (element == ELEMENT_HEADER)
        return pattern->header;
    return element < pattern->n_elements ? pattern->element[element].file : NULL;
}

#ifdef __cplusplus
}
#pragma GCC diagnostic pop
#endif

#endif
