/* SPDX-License-Identifier: MIT */
#include "fs/learn/fold.h"

#define MAX_GROUP 32 /* things that come again together */

struct item {
    uint64_t off;
    uint32_t shape;
};

/* n equal blocks, s apart; each is solid, or has the items child[0 .. n_child) of the pool in it. Shapes that are alike
 * are one shape. */
struct shape {
    uint64_t block, s, n;
    size_t child;
    uint32_t n_child, depth;
    uint64_t nodes;
};

struct fold {
    struct item *item;
    size_t n;
    struct shape *shape;
    size_t n_shapes;
    struct item *pool;
    size_t n_pool;
    uint32_t *table; /* of shapes by their hash, from 1; 0: free */
    size_t table_size;
};

void fold_free(struct fold *fold)
{
    if (fold == NULL)
        return;
    free(fold->item);
    free(fold->shape);
    free(fold->pool);
    free(fold->table);
    free(fold);
}

void fold_freep(struct fold **fold)
{
    fold_free(*fold);
}

/* -- shapes -- */

static uint64_t extent(const struct fold *fold, uint32_t shape)
{
    const struct shape *of = &fold->shape[shape];

    return (of->n - 1) * of->s + of->block;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 29);
}

static uint64_t hash_of(const struct shape *shape, const struct item child[])
{
    uint64_t hash = mix(mix(mix(shape->n_child, shape->block), shape->s), shape->n);

    for (uint32_t i = 0; i < shape->n_child; i++)
        hash = mix(mix(hash, child[i].off), child[i].shape);
    return hash;
}

static bool is_same(const struct fold *fold, const struct shape *a, const struct shape *b, const struct item child[])
{
    if (a->block != b->block || a->s != b->s || a->n != b->n || a->n_child != b->n_child)
        return false;
    for (uint32_t i = 0; i < a->n_child; i++)
        if (fold->pool[a->child + i].off != child[i].off || fold->pool[a->child + i].shape != child[i].shape)
            return false;
    return true;
}

static bool grow_table(struct fold *fold)
{
    size_t size = MAX(64, 2 * fold->table_size);
    uint32_t *table = calloc(size, sizeof *table);

    if (table == NULL)
        return false;
    for (size_t i = 0; i < fold->n_shapes; i++) {
        const struct shape *shape = &fold->shape[i];
        size_t at = hash_of(shape, shape->n_child > 0 ? &fold->pool[shape->child] : NULL) & (size - 1);

        while (table[at] != 0)
            at = (at + 1) & (size - 1);
        table[at] = (uint32_t) i + 1;
    }
    free(fold->table);
    fold->table = table;
    fold->table_size = size;
    return true;
}

static int add_shape(struct fold *fold, struct shape shape, const struct item child[])
{
    shape.child = fold->n_pool;
    shape.nodes = 1;
    for (uint32_t i = 0; i < shape.n_child; i++) {
        const struct shape *inner = &fold->shape[child[i].shape];

        shape.nodes += inner->nodes;
        shape.depth = MAX(shape.depth, inner->depth);
        if (!array_grow(fold->pool, fold->n_pool))
            return -ENOMEM;
        fold->pool[fold->n_pool++] = child[i];
    }
    shape.depth++;
    if (!array_grow(fold->shape, fold->n_shapes))
        return -ENOMEM;
    fold->shape[fold->n_shapes++] = shape;
    return 0;
}

/* Finds a shape, or adds it. */
static int shape_of(struct fold *fold, const struct shape *shape, const struct item child[], uint32_t *ret_shape)
{
    size_t at;
    int r;

    if (2 * (fold->n_shapes + 1) > fold->table_size && !grow_table(fold))
        return -ENOMEM;
    at = hash_of(shape, child) & (fold->table_size - 1);
    for (; fold->table[at] != 0; at = (at + 1) & (fold->table_size - 1))
        if (is_same(fold, &fold->shape[fold->table[at] - 1], shape, child)) {
            *ret_shape = fold->table[at] - 1;
            return 0;
        }
    r = add_shape(fold, *shape, child);
    if (r < 0)
        return r;
    fold->table[at] = (uint32_t) fold->n_shapes;
    *ret_shape = (uint32_t) fold->n_shapes - 1;
    return 0;
}

/* -- folding -- */

/* How often the k items at i come again at equal distances, once included. */
static size_t repetitions(const struct fold *fold, size_t i, size_t k, uint64_t *ret_s)
{
    const struct item *item = fold->item;
    size_t n = 1, next = i + k;

    if (next + k > fold->n)
        return 1;
    *ret_s = item[next].off - item[i].off;
    for (; next + k <= fold->n; next += k, n++)
        for (size_t m = 0; m < k; m++)
            if (item[next + m].shape != item[next - k + m].shape ||
                item[next + m].off - item[next - k + m].off != *ret_s)
                return n;
    return n;
}

static uint32_t depth_of(const struct fold *fold, size_t i, size_t k)
{
    uint32_t depth = 0;

    for (size_t m = 0; m < k; m++)
        depth = MAX(depth, fold->shape[fold->item[i + m].shape].depth);
    return depth;
}

/* How many items become one when those at i are folded in the best way: k things, n times. Two single things are left
 * alone when the second begins something longer. */
static size_t best_folding(const struct fold *fold, size_t i, size_t max_group, size_t *ret_k, uint64_t *ret_s)
{
    size_t best = 1;

    for (size_t k = 1; k <= max_group; k++) {
        uint64_t s = 0, other;
        size_t n = repetitions(fold, i, k, &s);

        if (n < 2 || n * k <= best || depth_of(fold, i, k) >= FOLD_MAX_DEPTH)
            continue;
        if (k == 1 && n == 2 && repetitions(fold, i + 1, 1, &other) > 2)
            continue;
        best = n * k;
        *ret_k = k;
        *ret_s = s;
    }
    return best;
}

/* Makes one shape of the k items at i, which come n times. */
static int fold_group(struct fold *fold, size_t i, size_t k, size_t n, uint64_t s, uint32_t *ret_shape)
{
    const struct shape *first = &fold->shape[fold->item[i].shape];
    struct item child[MAX_GROUP];
    struct shape shape = { .s = s, .n = n };

    if (k == 1 && first->n == 1) { /* only solid blocks come once */
        shape.block = first->block;
        return shape_of(fold, &shape, NULL, ret_shape);
    }
    for (size_t m = 0; m < k; m++)
        child[m] = (struct item){ fold->item[i + m].off - fold->item[i].off, fold->item[i + m].shape };
    shape.n_child = (uint32_t) k;
    shape.block = child[k - 1].off + extent(fold, child[k - 1].shape);
    return shape_of(fold, &shape, child, ret_shape);
}

/* Folds what it finds from left to right. */
static int fold_once(struct fold *fold, size_t max_group)
{
    size_t kept = 0, used;
    int r = 0;

    for (size_t i = 0; r == 0 && i < fold->n; i += used) {
        struct item item = fold->item[i];
        uint64_t s = 0;
        size_t k = 1;

        used = best_folding(fold, i, max_group, &k, &s);
        if (used > 1)
            r = fold_group(fold, i, k, used / k, s, &item.shape);
        fold->item[kept++] = item;
    }
    fold->n = kept;
    return r;
}

/* Folds runs as long as there are some, then groups, then runs again. */
static int fold_all(struct fold *fold)
{
    size_t before;
    int r;

    do {
        before = fold->n;
        r = fold_once(fold, 1);
        if (r == 0 && fold->n == before)
            r = fold_once(fold, MAX_GROUP);
    } while (r == 0 && fold->n < before);
    return r;
}

static int add_segments(struct fold *fold, const struct segment segment[], size_t n)
{
    fold->item = malloc(MAX(n, 1) * sizeof *fold->item);
    if (fold->item == NULL)
        return -ENOMEM;
    for (; fold->n < n; fold->n++) {
        uint64_t len = segment[fold->n].end - segment[fold->n].off;
        int r = shape_of(fold, &(struct shape){ .block = len, .s = len, .n = 1 }, NULL, &fold->item[fold->n].shape);

        if (r < 0)
            return r;
        fold->item[fold->n].off = segment[fold->n].off;
    }
    return 0;
}

int fold_new(const struct segment segment[], size_t n, size_t max_items, struct fold **ret_fold)
{
    cleanup(fold_freep) struct fold *fold = calloc(1, sizeof *fold);
    int r = fold == NULL ? -ENOMEM : add_segments(fold, segment, n);

    if (r == 0)
        r = fold_all(fold);
    if (r == 0 && fold->n > max_items)
        r = -E2BIG;
    if (r == 0)
        *ret_fold = steal(fold);
    return r;
}

/* -- what it has become -- */

uint64_t fold_nodes(const struct fold *fold)
{
    uint64_t nodes = 0;

    for (size_t i = 0; i < fold->n; i++)
        nodes += fold->shape[fold->item[i].shape].nodes;
    return nodes;
}

static struct falls falls_of(const struct fold *fold, const struct item *item)
{
    const struct shape *shape = &fold->shape[item->shape];

    return (struct falls){ item->off, item->off + shape->block - 1, MAX(shape->s, shape->block), shape->n };
}

static void print_items(FILE *out, const struct fold *fold, const struct item item[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct shape *shape = &fold->shape[item[i].shape];
        struct falls f = falls_of(fold, &item[i]);

        fprintf(out, "%s(%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, i > 0 ? "," : "", f.l, f.r, f.s, f.n);
        if (shape->n_child > 0) {
            fputs(",{", out);
            print_items(out, fold, &fold->pool[shape->child], shape->n_child);
            fputc('}', out);
        }
        fputc(')', out);
    }
}

void fold_print(FILE *out, const struct fold *fold)
{
    if (fold->n == 0)
        fputs("()", out);
    print_items(out, fold, fold->item, fold->n);
}

static struct part *parts_of(struct draft *draft, const struct fold *fold, const struct item item[], size_t n)
{
    struct parts parts = { 0 };

    for (size_t i = 0; i < n && draft->error == 0; i++) {
        const struct shape *shape = &fold->shape[item[i].shape];
        struct part *inner =
            shape->n_child > 0 ? parts_of(draft, fold, &fold->pool[shape->child], shape->n_child) : NULL;
        struct part *part = draft_part(draft, falls_of(fold, &item[i]), inner);

        if (part != NULL) {
            part->swept = true;
            parts_append(&parts, part);
        }
    }
    return parts.first;
}

int fold_nest(const struct fold *fold, struct nest **ret_nest)
{
    cleanup(draft_done) struct draft draft = { 0 };
    struct part *first = parts_of(&draft, fold, fold->item, fold->n);

    return draft.error < 0 ? draft.error : nest_new(first, ret_nest);
}

size_t fold_levels(const struct fold *fold, struct falls ret_level[static FOLD_MAX_DEPTH])
{
    const struct item *item = fold->item;
    size_t n = fold->n, depth = 0;

    while (n == 1 && depth < FOLD_MAX_DEPTH) {
        const struct shape *shape = &fold->shape[item->shape];

        ret_level[depth++] = falls_of(fold, item);
        if (shape->n_child == 0)
            return depth;
        item = &fold->pool[shape->child];
        n = shape->n_child;
    }
    return 0;
}
