/* SPDX-License-Identifier: MIT */
#include "fs/learn/shape.h"

#include "layout/overlap.h"

/* What is made of one rank's bytes. */
struct folded {
    struct falls level[FOLD_MAX_DEPTH];
    size_t n_levels; /* 0: irregular */
    uint64_t bytes, pieces, piece;
    struct nest *nest;
};

/* A set of more FALLS is irregular; one that cannot be folded at all has no nest. */
static int fold_rank(const struct extents *extents, uint32_t rank, struct folded *folded)
{
    size_t first = extents->first[rank], n = extents->first[rank + 1] - first;
    cleanup(fold_freep) struct fold *fold = NULL;
    int r = fold_new(&extents->segment[first], n, FALLS_MAX_NODES, &fold);

    *folded = (struct folded){ .bytes = extents_bytes(extents, rank), .pieces = n };
    if (n > 0)
        folded->piece = extents->segment[first].end - extents->segment[first].off;
    for (size_t i = 1; i < n; i++)
        if (extents->segment[first + i].end - extents->segment[first + i].off != folded->piece)
            folded->piece = 0;
    if (r == 0 && fold_nodes(fold) <= FALLS_MAX_NODES)
        r = fold_nest(fold, &folded->nest);
    if (r == 0)
        folded->n_levels = fold_levels(fold, folded->level);
    return r == -E2BIG ? 0 : r;
}

static bool falls_same(const struct falls *a, const struct falls *b, uint64_t shift)
{
    return a->l + shift == b->l && a->r + shift == b->r && a->n == b->n && (a->n == 1 || a->s == b->s);
}

/* Whether two ranks have the same but for where it begins. */
static bool is_shifted(const struct folded *a, const struct folded *b)
{
    if (a->n_levels == 0 || a->n_levels != b->n_levels ||
        !falls_same(&a->level[0], &b->level[0], b->level[0].l - a->level[0].l))
        return false;
    for (size_t i = 1; i < a->n_levels; i++)
        if (!falls_same(&a->level[i], &b->level[i], 0))
            return false;
    return true;
}

static enum shape_kind kind_of(const struct shape_group *group, const struct folded *folded)
{
    const struct falls *f = folded->level;

    if (folded->n_levels == 0)
        return SHAPE_IRREGULAR;
    if (group->n_ranks > 1 && group->is_same)
        return SHAPE_SAME;
    if (folded->n_levels > 1)
        return SHAPE_BLOCKS;
    if (f->n == 1)
        return SHAPE_PIECE;
    return group->n_ranks > 1 && group->shift == group->piece ? SHAPE_COLUMNS : SHAPE_STRIDED;
}

/* Begins a group with a rank; takes its nest. */
static int add_group(struct shapes *shapes, uint32_t rank, struct folded *folded)
{
    const struct falls *inner = folded->n_levels > 0 ? &folded->level[folded->n_levels - 1] : NULL;

    if (!array_grow(shapes->group, shapes->n))
        return -ENOMEM;
    shapes->group[shapes->n++] = (struct shape_group){ .first_rank = rank,
                                                       .n_ranks = 1,
                                                       .bytes = folded->bytes,
                                                       .pieces = folded->pieces,
                                                       .piece = folded->piece,
                                                       .apart = inner != NULL && inner->n > 1 ? inner->s : 0,
                                                       .is_same = true,
                                                       .nest = inner != NULL ? steal(folded->nest) : NULL };
    return 0;
}

/* Adds a rank to a group whose last one is before. */
static void join_group(struct shape_group *group, const struct folded *before, const struct folded *folded)
{
    uint64_t shift;

    group->n_ranks++;
    if (folded->n_levels == 0) {
        group->bytes += folded->bytes;
        group->pieces += folded->pieces;
        group->piece = group->piece == folded->piece ? group->piece : 0;
        group->is_same = false;
        return;
    }
    shift = folded->level[0].l - before->level[0].l;
    group->is_same &= shift == 0;
    if (group->n_ranks == 2)
        group->shift = shift;
    else if (group->shift != shift)
        group->shift = 0;
}

/* Whether a rank goes on with the group that the one before is in. */
static bool joins(const struct shapes *shapes, uint32_t rank, const struct folded *before, const struct folded *folded)
{
    const struct shape_group *group = shapes->n > 0 ? &shapes->group[shapes->n - 1] : NULL;

    if (group == NULL || group->first_rank + group->n_ranks != rank)
        return false;
    return before->n_levels == 0 ? folded->n_levels == 0 : is_shifted(before, folded);
}

int shapes_init(struct shapes *shapes, const struct extents *extents)
{
    struct folded before = { 0 };
    int r = 0;

    *shapes = (struct shapes){ 0 };
    for (uint32_t rank = 0; r == 0 && rank < extents->n_ranks; rank++) {
        struct folded folded;

        if (extents->first[rank] == extents->first[rank + 1])
            continue;
        r = fold_rank(extents, rank, &folded);
        if (r == 0 && joins(shapes, rank, &before, &folded))
            join_group(&shapes->group[shapes->n - 1], &before, &folded);
        else if (r == 0)
            r = add_group(shapes, rank, &folded);
        if (r == 0)
            shapes->group[shapes->n - 1].kind = kind_of(&shapes->group[shapes->n - 1], &folded);
        nest_free(folded.nest);
        before = folded;
    }
    if (r < 0)
        shapes_done(shapes);
    return r;
}

void shapes_done(struct shapes *shapes)
{
    for (size_t i = 0; i < shapes->n; i++)
        nest_free(shapes->group[i].nest);
    free(shapes->group);
    *shapes = (struct shapes){ 0 };
}

/* -- sections -- */

/* The index of the element that a byte of the file is in; false: it is in none. */
static bool index_of(const struct array *array, uint64_t byte, uint64_t ret_index[static ARRAY_MAX_DIMS])
{
    uint64_t element = (byte - array->header) / array->elem;

    if (byte < array->header)
        return false;
    for (uint32_t pace = 0; pace < array->ndims; pace++) {
        uint32_t dim = array_dim(array, pace);

        ret_index[dim] = element % array->size[dim];
        element /= array->size[dim];
    }
    return element == 0;
}

static uint64_t byte_of(const struct array *array, const uint64_t index[static ARRAY_MAX_DIMS])
{
    uint64_t element = 0;

    for (uint32_t pace = array->ndims; pace-- > 0;)
        element = element * array->size[array_dim(array, pace)] + index[array_dim(array, pace)];
    return array->header + element * array->elem;
}

/* Whether both have the same bytes. */
static bool is_equal(const struct nest *a, const struct nest *b, uint64_t end)
{
    uint64_t common, runs;

    return a->size == b->size && overlap_count(a, b, 0, end, &common, &runs) == 0 && common == a->size;
}

bool shape_section(const struct array *array, const struct nest *nest, struct range ret_section[static ARRAY_MAX_DIMS])
{
    cleanup(nest_freep) struct nest *section = NULL;
    uint64_t lower[ARRAY_MAX_DIMS], upper[ARRAY_MAX_DIMS], at[ARRAY_MAX_DIMS], next[ARRAY_MAX_DIMS], lo, hi, byte;

    if (!nest_next(nest, 0, &lo) || !nest_prev(nest, FALLS_LIMIT, &hi) || !index_of(array, lo, lower) ||
        !index_of(array, hi, upper))
        return false;
    memcpy(at, lower, sizeof at);
    for (uint32_t pace = 0; pace < array->ndims; pace++) {
        uint32_t dim = array_dim(array, pace);

        if (upper[dim] < lower[dim])
            return false;
        ret_section[dim] = (struct range){ lower[dim], upper[dim], 1 };
        if (upper[dim] > lower[dim]) { /* what follows the last element so far is one step on in this dimension */
            if (!nest_next(nest, byte_of(array, at) + array->elem, &byte) || !index_of(array, byte, next) ||
                next[dim] <= lower[dim])
                return false;
            ret_section[dim].stride = next[dim] - lower[dim];
        }
        at[dim] = upper[dim];
    }
    return section_new(array, ret_section, &section) == 0 && is_equal(section, nest, hi + 1);
}
