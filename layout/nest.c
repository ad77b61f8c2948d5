/* SPDX-License-Identifier: MIT */
#include "layout/nest.h"

struct count {
    uint32_t nodes, depth;
};

static void count_list(const struct part *first, uint32_t depth, struct count *count)
{
    count->depth = MAX(count->depth, depth);
    for (const struct part *p = first; p != NULL; p = p->next) {
        count->nodes++;
        if (p->inner != NULL)
            count_list(p->inner, depth + 1, count);
    }
}

/* Stores the list from node[at] on, everything below it from *free_node on; returns the bytes it selects. */
static uint64_t freeze_list(struct nest *nest, const struct part *first, uint32_t at, uint32_t *free_node)
{
    uint64_t before = 0;

    for (const struct part *p = first; p != NULL; p = p->next, at++) {
        struct nest_node *node = &nest->node[at];

        *node = (struct nest_node){ .f = p->f, .before = before, .block = falls_len(&p->f) };
        if (p->inner != NULL) {
            for (const struct part *q = p->inner; q != NULL; q = q->next)
                node->n_child++;
            node->child = *free_node;
            *free_node += node->n_child;
            node->block = freeze_list(nest, p->inner, node->child, free_node);
        }
        node->s_shift = div_shift(node->f.s);
        node->block_shift = div_shift(node->block);
        before += node->f.n * node->block;
    }
    return before;
}

int nest_new(const struct part *first, struct nest **ret_nest)
{
    struct count count = { 0 };
    struct nest *nest;
    uint32_t free_node;

    count_list(first, first != NULL, &count);
    if (count.depth > DRAFT_MAX_DEPTH)
        return -E2BIG;
    nest = malloc(sizeof *nest + count.nodes * sizeof nest->node[0]);
    if (nest == NULL)
        return -ENOMEM;
    *nest = (struct nest){ .n_nodes = count.nodes, .depth = count.depth };
    for (const struct part *p = first; p != NULL; p = p->next)
        nest->n_top++;
    free_node = nest->n_top;
    nest->size = freeze_list(nest, first, 0, &free_node);
    *ret_nest = nest;
    return 0;
}

void nest_free(struct nest *nest)
{
    free(nest);
}

void nest_freep(struct nest **nest)
{
    nest_free(*nest);
}

static struct part *thaw_list(struct draft *draft, const struct nest *nest, uint32_t first, uint32_t count)
{
    struct parts out = { 0 };

    for (uint32_t i = first; i < first + count; i++) {
        const struct nest_node *node = &nest->node[i];
        struct part *inner = node->n_child > 0 ? thaw_list(draft, nest, node->child, node->n_child) : NULL;
        struct part *p = draft_part(draft, node->f, inner);

        if (p == NULL)
            return NULL;
        p->swept = true;
        parts_append(&out, p);
    }
    return out.first;
}

struct part *nest_thaw(struct draft *draft, const struct nest *nest)
{
    return thaw_list(draft, nest, 0, nest->n_top);
}

uint64_t nest_rank_in(const struct nest *nest, uint32_t first, uint32_t count, uint64_t x)
{
    uint64_t rank = 0;

    for (;;) {
        uint32_t i = nest_find(nest, first, count, x);
        const struct nest_node *node;

        if (i == count)
            return count > 0 ? rank + nest->node[first].before : rank;
        node = &nest->node[first + i];
        rank += node->before;
        x -= node->f.l;
        if (node->f.n > 1) {
            uint64_t block = div_by(x, node->f.s, node->s_shift);

            if (block >= node->f.n)
                return rank + node->f.n * node->block;
            rank += block * node->block;
            x -= block * node->f.s;
        }
        if (x >= falls_len(&node->f))
            return rank + node->block;
        if (node->n_child == 0)
            return rank + x;
        first = node->child;
        count = node->n_child;
    }
}

bool nest_equals(const struct nest *a, const struct nest *b)
{
    if (a->size != b->size || a->n_top != b->n_top || a->n_nodes != b->n_nodes)
        return false;
    for (uint32_t i = 0; i < a->n_nodes; i++) {
        const struct nest_node *x = &a->node[i], *y = &b->node[i];

        if (x->f.l != y->f.l || x->f.r != y->f.r || x->f.s != y->f.s || x->f.n != y->f.n || x->child != y->child ||
            x->n_child != y->n_child)
            return false;
    }
    return true;
}

uint64_t nest_rank(const struct nest *nest, uint64_t x)
{
    return nest_rank_in(nest, 0, nest->n_top, x);
}

bool nest_next(const struct nest *nest, uint64_t x, uint64_t *ret_byte)
{
    uint64_t rank = nest_rank(nest, x);

    if (rank == nest->size)
        return false;
    *ret_byte = nest_select(nest, rank);
    return true;
}

bool nest_prev(const struct nest *nest, uint64_t x, uint64_t *ret_byte)
{
    uint64_t rank = x == UINT64_MAX ? nest->size : nest_rank(nest, x + 1);

    if (rank == 0)
        return false;
    *ret_byte = nest_select(nest, rank - 1);
    return true;
}

bool nest_contains(const struct nest *nest, uint64_t x)
{
    uint64_t byte;

    return nest_next(nest, x, &byte) && byte == x;
}

int nest_cut(const struct nest *nest, uint64_t lo, uint64_t hi, struct nest **ret_nest)
{
    cleanup(draft_done) struct draft draft = { 0 };
    struct part *cut = parts_tidy(&draft, parts_cut(&draft, nest_thaw(&draft, nest), lo, hi));

    return draft.error != 0 ? draft.error : nest_new(cut, ret_nest);
}
