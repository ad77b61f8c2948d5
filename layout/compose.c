/* SPDX-License-Identifier: MIT */
#include "layout/compose.h"

struct compose {
    struct draft *draft;
    const struct nest *outer;
};

/* Each of these appends, in order, what a list or a part selects of the ranks of something of outer. Positions are
 * relative to the block around that, and base is added to all of them. */
static void compose_set(struct compose *c, struct parts *out, uint32_t first, uint32_t count, const struct part *list,
                        uint64_t base);
static void compose_run(struct compose *c, struct parts *out, const struct nest_node *node, const struct part *part,
                        uint64_t base);

static struct part *dense(struct compose *c, uint64_t l, uint64_t len)
{
    return draft_part(c->draft, (struct falls){ l, l + len - 1, len, 1 }, NULL);
}

/* A single block of the node, which starts at base. */
static void compose_block(struct compose *c, struct parts *out, const struct nest_node *node, const struct part *list,
                          uint64_t base)
{
    if (node->n_child > 0) {
        compose_set(c, out, node->child, node->n_child, list, base);
        return;
    }
    for (const struct part *p = list; p != NULL && draft_work(c->draft, 1); p = p->next)
        parts_append(out, draft_copy(c->draft, p, base));
}

static void compose_set(struct compose *c, struct parts *out, uint32_t first, uint32_t count, const struct part *list,
                        uint64_t base)
{
    for (uint32_t i = first; i < first + count && draft_work(c->draft, 1); i++) {
        const struct nest_node *node = &c->outer->node[i];
        const struct part *cut = parts_cut(c->draft, list, node->before, node->before + node->block * node->f.n);

        if (node->f.n == 1)
            compose_block(c, out, node, cut, base + node->f.l);
        for (; node->f.n > 1 && cut != NULL && c->draft->error == 0; cut = cut->next)
            compose_run(c, out, node, cut, base + node->f.l);
    }
}

/* What lies in the node's blocks from first to last, block by block. */
static void compose_blocks(struct compose *c, struct parts *out, const struct nest_node *node, const struct part *part,
                           uint64_t base)
{
    struct part *alone = draft_copy(c->draft, part, 0);
    uint64_t block = part->f.l / node->block, last = (falls_end(&part->f) - 1) / node->block;

    for (; block <= last && draft_work(c->draft, 1); block++) {
        const struct part *cut = parts_cut(c->draft, alone, block * node->block, (block + 1) * node->block);

        compose_block(c, out, node, cut, base + block * node->f.s);
    }
}

/* A family whose blocks are what the node's blocks from lo up to hi select. */
static void append_family(struct compose *c, struct parts *out, struct part *inner, uint64_t stride, uint64_t n)
{
    struct part *part;
    struct parts moved = { 0 };
    uint64_t lo, end = parts_end(inner);

    if (inner == NULL || c->draft->error != 0)
        return;
    lo = inner->f.l;
    for (const struct part *p = inner; p != NULL; p = p->next)
        parts_append(&moved, draft_copy(c->draft, p, -lo));
    part = draft_part(c->draft, (struct falls){ lo, end - 1, stride, n }, parts_tidy(c->draft, moved.first));
    if (part == NULL)
        return;
    part->swept = true;
    parts_reduce(c->draft, out, part);
}

/* Ranks without a hole, over several blocks: the whole ones among them are a family. */
static void compose_dense(struct compose *c, struct parts *out, const struct nest_node *node, uint64_t lo, uint64_t hi,
                          uint64_t base)
{
    uint64_t size = node->block, first = (lo + size - 1) / size, end = hi / size;
    struct parts whole = { 0 };

    if (first >= end) {
        compose_blocks(c, out, node, dense(c, lo, hi - lo), base);
        return;
    }
    if (lo < first * size)
        compose_blocks(c, out, node, dense(c, lo, first * size - lo), base);
    compose_block(c, &whole, node, dense(c, 0, size), base + first * node->f.s);
    append_family(c, out, whole.first, node->f.s, end - first);
    if (hi > end * size)
        compose_blocks(c, out, node, dense(c, end * size, hi - end * size), base);
}

/* The members of one block of a part that crosses blocks of the node, from rank l on. */
static void compose_inner(struct compose *c, struct parts *out, const struct nest_node *node, const struct part *inner,
                          uint64_t l, uint64_t base)
{
    for (const struct part *p = inner; p != NULL && draft_work(c->draft, 1); p = p->next) {
        const struct part *moved = draft_copy(c->draft, p, l);

        if (moved != NULL)
            compose_run(c, out, node, moved, base);
    }
}

/* m blocks of a part step over whole blocks of the node: they are done once, and repeated. */
static void compose_repeated(struct compose *c, struct parts *out, const struct nest_node *node,
                             const struct part *part, uint64_t m, uint64_t base)
{
    uint64_t n = part->f.n / m, rest = part->f.n % m, step = m * part->f.s;
    struct part *group = draft_copy(c->draft, part, 0), *tail = draft_copy(c->draft, part, n * step);
    struct parts once = { 0 };

    if (group == NULL || tail == NULL)
        return;
    group->f.n = m;
    compose_run(c, &once, node, group, base);
    append_family(c, out, once.first, step / node->block * node->f.s, n);
    tail->f.n = rest;
    if (rest > 0)
        compose_run(c, out, node, tail, base);
}

static void compose_run(struct compose *c, struct parts *out, const struct nest_node *node, const struct part *part,
                        uint64_t base)
{
    const struct falls *f = &part->f;
    uint64_t size = node->block, m = MAX(size / gcd_u64(f->s, size), 1);

    if (!draft_work(c->draft, 1))
        return;
    if (f->n > 1 && f->n / 2 >= m) {
        compose_repeated(c, out, node, part, m, base);
    } else if (f->l / size == (falls_end(f) - 1) / size || (f->n > 1 && f->s < size)) {
        compose_blocks(c, out, node, part, base);
    } else if (f->n == 1 && part->inner != NULL) {
        compose_inner(c, out, node, part->inner, f->l, base);
    } else if (f->n == 1) {
        compose_dense(c, out, node, f->l, f->r + 1, base);
    } else {
        for (uint64_t i = 0; i < f->n && draft_work(c->draft, 1); i++) {
            struct part *one = draft_copy(c->draft, part, i * f->s);

            if (one == NULL)
                return;
            one->f.n = 1;
            compose_run(c, out, node, one, base);
        }
    }
}

/* Lists may share inner lists, a nest does not: so many nodes it would have; more than most: any number above it. */
static uint64_t count_nodes(const struct part *list, uint64_t most)
{
    uint64_t n = 0;

    for (const struct part *p = list; p != NULL && n <= most; p = p->next)
        n += 1 + (p->inner != NULL ? count_nodes(p->inner, most - n) : 0);
    return n;
}

int nest_compose(const struct nest *outer, const struct nest *inner, struct nest **ret_nest)
{
    cleanup(draft_done) struct draft draft = { 0 };
    struct compose c = { .draft = &draft, .outer = outer };
    struct parts out = { 0 };
    struct part *list;
    uint64_t last;

    if (nest_prev(inner, UINT64_MAX, &last) && last >= outer->size)
        return -ERANGE;
    compose_set(&c, &out, 0, outer->n_top, nest_thaw(&draft, inner), 0);
    list = parts_tidy(&draft, out.first);
    if (draft.error == 0 && count_nodes(list, COMPOSE_MAX_NODES) > COMPOSE_MAX_NODES)
        draft.error = -E2BIG;
    return draft.error != 0 ? draft.error : nest_new(list, ret_nest);
}
