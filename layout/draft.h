/* SPDX-License-Identifier: MIT */
/* Nested FALLS on the drawing board: lists of parts in an arena, reshaped freely and frozen into a nest or a cover
 * when they are right. A part is a FALLS and what it selects of each block:
 *
 *     (0, 3, 8, 2, {(0, 0, 2, 2)})      part 0,3,8,2 ── inner ──> part 0,0,2,2      bytes 0 2 8 10
 *
 * A part without inner list is a leaf: it selects its whole blocks. Lists may share inner lists, so an inner list is
 * never changed once a part points to it; whoever needs another one makes new parts. */
#ifndef FALLSFS_LAYOUT_DRAFT_H
#define FALLSFS_LAYOUT_DRAFT_H

#include "layout/falls.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How much sweeping and intersecting may pile up: levels, parts, steps. A layout or an intersection that needs more
 * counts as too irregular, -E2BIG. Users see these limits: regular patterns come nowhere near them, and they bound what
 * a hostile pattern can cost to some milliseconds. */
#define DRAFT_MAX_DEPTH 40
#define DRAFT_MAX_PARTS (1u << 18)
#define DRAFT_MAX_WORK  (1u << 18)

struct part {
    struct falls f;     /* relative to the parent's block */
    struct part *inner; /* what each block selects; NULL: all of it */
    struct part *next;
    uint32_t owner;  /* of a leaf: the element that its bytes belong to */
    uint32_t origin; /* which FALLS of the text this was, for messages */
    bool swept;      /* inner is in order, members do not interleave (sweep.h) */
};

struct parts {
    struct part *first, *last;
};

struct draft {
    struct draft_chunk *chunks;
    size_t n_parts, work;
    size_t more_work; /* steps allowed beyond DRAFT_MAX_WORK, where none of them leaves a part behind */
    int error;        /* the first thing that went wrong: -ENOMEM, -E2BIG, ... ; later calls then do nothing */
};

void draft_done(struct draft *draft);

/* Allocates memory that lives as long as the draft; NULL after an error. */
void *draft_alloc(struct draft *draft, size_t size);

/* A new part that is in no list; NULL after an error. */
struct part *draft_part(struct draft *draft, struct falls f, struct part *inner);

/* A copy of one part, shifted; it shares the inner list. */
struct part *draft_copy(struct draft *draft, const struct part *part, uint64_t shift);

/* Counts steps; sets -E2BIG when there were too many. True while the draft may go on. */
bool draft_work(struct draft *draft, size_t steps);

void parts_append(struct parts *parts, struct part *part);

/* Appends a part in simplest form: blocks trimmed to what they select, a single block replaced by what it holds,
 * levels that continue each other made one. It may append several parts, or none when the inner list is empty. */
void parts_reduce(struct draft *draft, struct parts *out, const struct part *part);

/* Brings an ordered list of reduced parts into canonical form: neighbours that touch or repeat become one. */
struct part *parts_tidy(struct draft *draft, struct part *first);

/* What the list selects of [lo, hi), relative to lo. The list need be neither ordered nor free of overlap. */
struct part *parts_cut(struct draft *draft, const struct part *first, uint64_t lo, uint64_t hi);

/* The first selected byte at or after x and the part it lies in; false when there is none. */
bool parts_next(const struct part *first, uint64_t x, uint64_t *ret_byte, const struct part **ret_part);

/* The byte after the last selected one; 0 for nothing. */
uint64_t parts_end(const struct part *first);

bool parts_equal(const struct part *a, const struct part *b);

#ifdef __cplusplus
}
#endif

#endif
