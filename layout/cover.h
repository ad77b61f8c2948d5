/* SPDX-License-Identifier: MIT */
/* A cover is all elements of a pattern at once, in file order: who owns which byte.
 *
 *     {(0,1,6,1);(2,3,6,1);(4,5,6,1)}      ├─ 0..1 of element 0 ─┼─ 2..3 of 1 ─┼─ 4..5 of 2 ─┤  for ever
 *
 * It is a tree of blocks that lie side by side without gap or overlap. An inner node repeats its children n times; a
 * leaf is a segment of one element. What a repetition adds to a leaf's offset in its subfile is stored with the leaf,
 * one number a level, so going down the tree once gives owner, offset there, and how far the segment goes on.
 * Immutable; safe from any thread. */
#ifndef FALLSFS_LAYOUT_COVER_H
#define FALLSFS_LAYOUT_COVER_H

#include "layout/draft.h"

#ifdef __cplusplus
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic" /* C++ has no arrays without a size; its compilers have */
extern "C" {
#endif

struct cover_node {
    uint64_t l, len;         /* first byte in the parent's block, bytes of one repetition */
    uint64_t n;              /* repetitions; a leaf has one, the root as many as fit */
    uint64_t child_len;      /* all children have this extent, or 0 */
    uint32_t child, n_child; /* none: a leaf */
    uint32_t element;
    uint32_t step;    /* a leaf's first number in cover.step: subfile bytes per repetition, root level first */
    uint64_t sub_off; /* a leaf's offset in the subfile in the very first repetition of all levels */
    uint32_t parent;  /* of the root: itself */
    uint8_t len_shift, child_shift;
    bool joins; /* what follows a leaf may belong to the same element: a run may go on */
};

struct cover {
    uint64_t *step;
    uint32_t n_nodes, n_leaves, n_steps, depth;
    struct cover_node node[]; /* siblings lie together; node[0] is the root: the pattern itself */
};

/* Freezes a swept list without gap whose leaves name their elements. */
int cover_new(const struct part *first, uint64_t size, uint32_t n_elements, struct cover **ret_cover);
void cover_free(struct cover *cover);
void cover_freep(struct cover **cover);

/* The bytes of memory that a cover takes. */
size_t cover_bytes(const struct cover *cover);

/* The way down to a leaf: which repetition on each level. */
struct cover_path {
    const struct cover_node *leaf;
    uint32_t depth;                      /* levels above the leaf */
    uint64_t block[DRAFT_MAX_DEPTH + 1]; /* root first */
};

/* The leaf that owns byte x of the pattern's part of the file; returns how far into its segment x lies. */
uint64_t cover_find(const struct cover *cover, uint64_t x, struct cover_path *ret_path);

/* Moves a path on to the segment that follows in the file. */
void cover_advance(const struct cover *cover, struct cover_path *path);

/* Where the segment that the path leads to starts in its subfile. */
static inline uint64_t cover_sub_off(const struct cover *cover, const struct cover_path *path)
{
    const uint64_t *step = &cover->step[path->leaf->step];
    uint64_t sub_off = path->leaf->sub_off;

    for (uint32_t level = 0; level < path->depth; level++)
        sub_off += path->block[level] * step[level];
    return sub_off;
}

#ifdef __cplusplus
}
#pragma GCC diagnostic pop
#endif

#endif
