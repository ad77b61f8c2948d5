/* SPDX-License-Identifier: MIT */
#include "layout/gather.h"

#include "layout/copy.h"

/* One call of nest_gather or nest_scatter: its buffers, its window [lo, hi), and how many bytes it has moved so far. */
struct transfer {
    const struct nest *nest;
    const struct copy_loops *loops;
    bool gather;
    const unsigned char *from; /* the spread buffer starts at byte lo of the set */
    unsigned char *to;
    uint64_t lo, hi;
    size_t moved;
};

/* Moves n pieces of len bytes, stride apart, the first at file_off; all of them lie inside the window. */
static void move_pieces(struct transfer *t, uint64_t file_off, uint64_t len, uint64_t stride, uint64_t n)
{
    if (t->gather)
        t->loops->gather(t->to + t->moved, t->from + (file_off - t->lo), len, stride, n);
    else
        t->loops->scatter(t->to + (file_off - t->lo), t->from + t->moved, len, stride, n);
    t->moved += len * n;
}

static void move_set(struct transfer *t, uint32_t first, uint32_t count, uint64_t base);

/* Moves what the node selects of one block, which the window may cut. */
static void move_cut_block(struct transfer *t, const struct nest_node *node, uint64_t block_off)
{
    uint64_t from = MAX(t->lo, block_off), to = MIN(t->hi, block_off + falls_len(&node->f));

    if (from >= to)
        return;
    if (node->n_child > 0)
        move_set(t, node->child, node->n_child, block_off);
    else
        move_pieces(t, from, to - from, to - from, 1);
}

/* Moves what the node selects of n blocks that lie in the window whole. */
static void move_blocks(struct transfer *t, const struct nest_node *node, uint64_t block_off, uint64_t n)
{
    const struct nest_node *inner = &t->nest->node[node->child];

    if (node->n_child == 0) {
        move_pieces(t, block_off, falls_len(&node->f), node->f.s, n);
        return;
    }
    for (; n > 0; n--, block_off += node->f.s) {
        if (node->n_child == 1 && inner->n_child == 0)
            move_pieces(t, block_off + inner->f.l, falls_len(&inner->f), inner->f.s, inner->f.n);
        else
            move_set(t, node->child, node->n_child, block_off);
    }
}

/* Moves what the members node[first .. first + count) select in the window; the block around them starts at base. */
static void move_set(struct transfer *t, uint32_t first, uint32_t count, uint64_t base)
{
    uint32_t i = nest_find(t->nest, first, count, t->lo > base ? t->lo - base : 0);

    for (i = i == count ? 0 : i; i < count; i++) {
        const struct nest_node *node = &t->nest->node[first + i];
        uint64_t off = base + node->f.l;
        uint64_t head = t->lo <= off ? 0 : MIN((t->lo - off - 1) / node->f.s + 1, node->f.n);
        uint64_t tail = t->hi > base ? falls_blocks_before(&node->f, t->hi - base) : 0;

        if (off >= t->hi)
            break;
        if (head > 0 && head - 1 < tail)
            move_cut_block(t, node, off + (head - 1) * node->f.s);
        if (head < tail)
            move_blocks(t, node, off + head * node->f.s, tail - head);
        if (tail < node->f.n)
            move_cut_block(t, node, off + tail * node->f.s);
    }
}

static size_t move(const struct nest *nest, uint64_t lo, uint64_t hi, const void *from, void *to, bool gather)
{
    struct transfer t = {
        .nest = nest, .loops = copy_loops_best(), .gather = gather, .from = from, .to = to, .lo = lo, .hi = hi
    };

    move_set(&t, 0, nest->n_top, 0);
    return t.moved;
}

size_t nest_gather(const struct nest *nest, uint64_t lo, uint64_t hi, const void *spread, void *packed)
{
    return move(nest, lo, hi, spread, packed, true);
}

size_t nest_scatter(const struct nest *nest, uint64_t lo, uint64_t hi, void *spread, const void *packed)
{
    return move(nest, lo, hi, packed, spread, false);
}
