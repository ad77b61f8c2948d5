/* SPDX-License-Identifier: MIT */
/* A nest is a set of nested FALLS, immutable once built: the bytes of one subfile, of a view, of an array section.
 *
 *     {(0, 3, 8, 2, {(0, 0, 2, 2)})}      byte    0 1 2 3 4 5 6 7 8 9 10 11
 *                                         member  # . # . . . . . # .  #  .
 *                                         rank    0 1 1 2 2 2 2 2 2 3  3  4
 *
 * rank(x) counts the members before x; select(k) is the k-th member. Together they are the paper's MAP and its inverse,
 * in O(depth * log width): members never interleave, so one search a level finds the way down.
 * Safe from any thread; only building and cutting allocate. */
#ifndef FALLSFS_LAYOUT_NEST_H
#define FALLSFS_LAYOUT_NEST_H

#include "layout/draft.h"

#ifdef __cplusplus
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic" /* C++ has no arrays without a size; its compilers have */
extern "C" {
#endif

struct nest_node {
    struct falls f;          /* relative to the parent's block */
    uint64_t block;          /* bytes selected in one block */
    uint64_t before;         /* bytes selected by the members before this one, all blocks */
    uint32_t child, n_child; /* inner set; none: a leaf, all of the block */
    uint8_t s_shift, block_shift;
};

struct nest {
    uint64_t size; /* bytes selected */
    uint32_t n_top, n_nodes, depth;
    struct nest_node node[]; /* members of a set lie together, in order; the outer set is node[0 .. n_top) */
};

/* Freezes a swept list; NULL stands for the empty set. -ENOMEM, -E2BIG (too deep). */
int nest_new(const struct part *first, struct nest **ret_nest);
void nest_free(struct nest *nest);
void nest_freep(struct nest **nest);

/* The bytes of memory that a nest takes. */
static inline size_t nest_bytes(const struct nest *nest)
{
    return sizeof *nest + nest->n_nodes * sizeof nest->node[0];
}

/* Turns a nest back into a list of parts, in order, which the draft may reshape. */
struct part *nest_thaw(struct draft *draft, const struct nest *nest);

/* Whether they are written down alike; two that are not may still select the same bytes. */
bool nest_equals(const struct nest *a, const struct nest *b);

/* How many members lie before x, which may be any offset. */
uint64_t nest_rank(const struct nest *nest, uint64_t x);

/* How many members of the inner set at node[first .. first + count) lie before x, which is relative to the set's block;
 * members that stand before node[first] count too. */
uint64_t nest_rank_in(const struct nest *nest, uint32_t first, uint32_t count, uint64_t x);

/* The first member at or after x, the last one at or before x; false when there is none. */
bool nest_next(const struct nest *nest, uint64_t x, uint64_t *ret_byte);
bool nest_prev(const struct nest *nest, uint64_t x, uint64_t *ret_byte);

bool nest_contains(const struct nest *nest, uint64_t x);

/* The members in [lo, hi), relative to lo. */
int nest_cut(const struct nest *nest, uint64_t lo, uint64_t hi, struct nest **ret_nest);

/* Which member of the set at node[first .. first + count) x lies in or behind: the last one with l <= x, counted from
 * first. count when x lies before all of them. */
static inline uint32_t nest_find(const struct nest *nest, uint32_t first, uint32_t count, uint64_t x)
{
    uint32_t lo = 0, hi = count; /* members below lo start at or before x, those from hi on behind it */

    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;

        if (nest->node[first + mid].f.l <= x)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo == 0 ? count : lo - 1;
}

/* The k-th member, from 0, and how many members follow it without a hole, itself included, as far as its block goes. k
 * must be less than size. It is inline because unmapping a byte is little else. */
static inline uint64_t nest_select_run(const struct nest *nest, uint64_t k, uint64_t *ret_len)
{
    uint32_t first = 0, count = nest->n_top;
    uint64_t x = 0;

    for (;;) {
        uint32_t lo = first, hi = first + count; /* before of lo is at most k, that of hi is not */
        const struct nest_node *node;

        while (hi - lo > 1) {
            uint32_t mid = lo + (hi - lo) / 2;

            if (nest->node[mid].before <= k)
                lo = mid;
            else
                hi = mid;
        }
        node = &nest->node[lo];
        k -= node->before;
        x += node->f.l;
        if (node->f.n > 1) {
            uint64_t block = div_by(k, node->block, node->block_shift);

            k -= block * node->block;
            x += block * node->f.s;
        }
        if (node->n_child == 0) {
            *ret_len = node->block - k;
            return x + k;
        }
        first = node->child;
        count = node->n_child;
    }
}

/* The k-th member alone. */
static inline uint64_t nest_select(const struct nest *nest, uint64_t k)
{
    uint64_t len;

    return nest_select_run(nest, k, &len);
}

#ifdef __cplusplus
}
#pragma GCC diagnostic pop
#endif

#endif
