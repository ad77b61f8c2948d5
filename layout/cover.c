/* SPDX-License-Identifier: MIT */
#include "layout/cover.h"

struct count {
    uint32_t nodes, leaves, steps, depth;
};

static void count_list(const struct part *first, uint32_t depth, struct count *count)
{
    count->depth = MAX(count->depth, depth);
    for (const struct part *p = first; p != NULL; p = p->next) {
        count->nodes++;
        if (p->inner != NULL) {
            count_list(p->inner, depth + 1, count);
        } else {
            count->leaves++;
            count->steps += depth;
        }
    }
}

/* Bytes of each element, counted while the tree is built. */
struct sizes {
    uint64_t *before; /* in the file before the place reached, every repetition on the way counted */
    uint64_t *block;  /* in one repetition of one node */
};

static void sizes_done(struct sizes *sizes)
{
    free(sizes->before);
    free(sizes->block);
}

/* Adds to size, for each element, times as many bytes as one repetition of the node holds of it. */
static void add_block(const struct cover *cover, const struct cover_node *node, uint64_t times, uint64_t *size)
{
    for (uint32_t i = node->child; i < node->child + node->n_child; i++) {
        const struct cover_node *child = &cover->node[i];

        if (child->n_child > 0)
            add_block(cover, child, times * child->n, size);
        else
            size[child->element] += times * child->len;
    }
}

static bool same_extent(const struct part *first)
{
    for (const struct part *p = first; p != NULL; p = p->next)
        if (p->f.n * p->f.s != first->f.n * first->f.s)
            return false;
    return true;
}

/* A cover being filled: free_node and free_step are where the next nodes and steps go. */
struct freezer {
    struct cover *cover;
    struct sizes *sizes;
    uint32_t free_node, free_step;
};

static void freeze_children(struct freezer *freezer, const struct part *first, uint32_t parent, uint32_t depth)
{
    struct cover *cover = freezer->cover;
    struct cover_node *above = &cover->node[parent];
    uint32_t at = freezer->free_node;

    above->child = at;
    for (const struct part *p = first; p != NULL; p = p->next)
        above->n_child++;
    if (same_extent(first)) {
        above->child_len = first->f.n * first->f.s;
        above->child_shift = div_shift(above->child_len);
    }
    freezer->free_node += above->n_child;
    for (const struct part *p = first; p != NULL; p = p->next, at++) {
        struct cover_node *node = &cover->node[at];

        *node = (struct cover_node){ .l = p->f.l, .len = falls_len(&p->f), .n = p->f.n, .parent = parent };
        node->len_shift = div_shift(node->len);
        if (p->inner != NULL) {
            freeze_children(freezer, p->inner, at, depth + 1);
            add_block(cover, node, node->n - 1, freezer->sizes->before);
        } else {
            node->element = p->owner;
            node->sub_off = freezer->sizes->before[p->owner];
            node->step = freezer->free_step;
            freezer->free_step += depth;
            freezer->sizes->before[p->owner] += node->len;
        }
    }
}

static void clear_sizes(const struct cover *cover, const struct cover_node *node, uint64_t *size)
{
    for (uint32_t i = node->child; i < node->child + node->n_child; i++) {
        if (cover->node[i].n_child > 0)
            clear_sizes(cover, &cover->node[i], size);
        else
            size[cover->node[i].element] = 0;
    }
}

static void store_steps(struct cover *cover, const struct cover_node *node, uint32_t level, const uint64_t *size)
{
    for (uint32_t i = node->child; i < node->child + node->n_child; i++) {
        if (cover->node[i].n_child > 0)
            store_steps(cover, &cover->node[i], level, size);
        else
            cover->step[cover->node[i].step + level] = size[cover->node[i].element];
    }
}

/* Stores with each leaf below the node, which is on this level, what one repetition of the node adds to the leaf's
 * offset; then does the same for the inner nodes below. */
static void set_steps(struct cover *cover, const struct cover_node *node, uint32_t level, uint64_t *size)
{
    clear_sizes(cover, node, size);
    add_block(cover, node, 1, size);
    store_steps(cover, node, level, size);
    for (uint32_t i = node->child; i < node->child + node->n_child; i++)
        if (cover->node[i].n_child > 0)
            set_steps(cover, &cover->node[i], level + 1, size);
}

static const struct cover_node *first_leaf(const struct cover *cover, const struct cover_node *node)
{
    while (node->n_child > 0)
        node = &cover->node[node->child];
    return node;
}

static bool is_last_child(const struct cover *cover, const struct cover_node *node, const struct cover_node *parent)
{
    return node == &cover->node[parent->child + parent->n_child - 1];
}

/* Whether the same element may follow a leaf, be it in the next sibling or in the next repetition of any level. */
static bool may_join(const struct cover *cover, const struct cover_node *leaf)
{
    const struct cover_node *node = leaf, *parent = &cover->node[node->parent];

    while (is_last_child(cover, node, parent)) {
        if (first_leaf(cover, parent)->element == leaf->element)
            return true;
        if (parent == &cover->node[0])
            return false;
        node = parent;
        parent = &cover->node[node->parent];
    }
    return first_leaf(cover, node + 1)->element == leaf->element;
}

int cover_new(const struct part *first, uint64_t size, uint32_t n_elements, struct cover **ret_cover)
{
    cleanup(cover_freep) struct cover *cover = NULL;
    cleanup(sizes_done) struct sizes sizes = { 0 };
    struct count count = { .nodes = 1 };
    struct freezer freezer;

    count_list(first, 1, &count);
    if (count.depth > DRAFT_MAX_DEPTH)
        return -E2BIG;
    cover = calloc(1, sizeof *cover + count.nodes * sizeof cover->node[0]);
    if (cover == NULL)
        return -ENOMEM;
    *cover = (struct cover){
        .n_nodes = count.nodes, .n_leaves = count.leaves, .n_steps = count.steps, .depth = count.depth
    };
    cover->step = calloc(count.steps, sizeof cover->step[0]);
    sizes.before = calloc(n_elements, sizeof sizes.before[0]);
    sizes.block = calloc(n_elements, sizeof sizes.block[0]);
    if (cover->step == NULL || sizes.before == NULL || sizes.block == NULL)
        return -ENOMEM;
    cover->node[0] = (struct cover_node){ .len = size, .n = UINT64_MAX, .len_shift = div_shift(size) };
    freezer = (struct freezer){ .cover = cover, .sizes = &sizes, .free_node = 1 };
    freeze_children(&freezer, first, 0, 1);
    set_steps(cover, &cover->node[0], 0, sizes.block);
    for (uint32_t i = 0; i < cover->n_nodes; i++)
        if (cover->node[i].n_child == 0)
            cover->node[i].joins = may_join(cover, &cover->node[i]);
    *ret_cover = steal(cover);
    return 0;
}

void cover_free(struct cover *cover)
{
    if (cover != NULL)
        free(cover->step);
    free(cover);
}

void cover_freep(struct cover **cover)
{
    cover_free(*cover);
}

size_t cover_bytes(const struct cover *cover)
{
    return sizeof *cover + cover->n_nodes * sizeof cover->node[0] + cover->n_steps * sizeof cover->step[0];
}

static uint32_t find_child(const struct cover *cover, const struct cover_node *node, uint64_t x)
{
    uint32_t lo, hi;

    if (node->child_len > 0)
        return node->child + (uint32_t) div_by(x, node->child_len, node->child_shift);
    lo = node->child;
    hi = node->child + node->n_child; /* children below hi start at or before x */
    while (hi - lo > 1) {
        uint32_t mid = lo + (hi - lo) / 2;

        if (cover->node[mid].l <= x)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

uint64_t cover_find(const struct cover *cover, uint64_t x, struct cover_path *ret_path)
{
    const struct cover_node *node = &cover->node[0];
    uint32_t level = 0;

    for (; node->n_child > 0; level++) {
        uint64_t block = div_by(x, node->len, node->len_shift);

        ret_path->block[level] = block;
        x -= block * node->len;
        node = &cover->node[find_child(cover, node, x)];
        x -= node->l;
    }
    ret_path->leaf = node;
    ret_path->depth = level;
    return x;
}

void cover_advance(const struct cover *cover, struct cover_path *path)
{
    const struct cover_node *node = path->leaf, *parent = &cover->node[node->parent];
    uint32_t level = path->depth - 1;

    while (is_last_child(cover, node, parent)) {
        if (++path->block[level] < parent->n) {
            node = &cover->node[parent->child - 1];
            break;
        }
        node = parent;
        parent = &cover->node[node->parent];
        level--;
    }
    for (node++; node->n_child > 0; node = &cover->node[node->child])
        path->block[++level] = 0;
    path->leaf = node;
    path->depth = level + 1;
}
