/* SPDX-License-Identifier: MIT */
#include "layout/dist.h"

#include "layout/sweep.h"

/* A part of n pieces of len bytes, stride apart; inner says what is selected of each piece, NULL that all of it is. */
static struct part *pieces(struct draft *draft, uint64_t first, uint64_t len, uint64_t stride, uint64_t n,
                           struct part *inner, uint32_t owner)
{
    struct part *part = draft_part(draft, (struct falls){ first, first + len - 1, n > 1 ? stride : len, n }, inner);

    if (part != NULL) {
        part->owner = owner;
        part->swept = true;
    }
    return part;
}

struct part *dist_stripe(struct draft *draft, uint64_t unit, uint32_t element)
{
    return pieces(draft, element * unit, unit, unit, 1, NULL, element);
}

struct part *dist_var(struct draft *draft, const uint64_t unit[], uint32_t element)
{
    uint64_t first = 0;

    for (uint32_t i = 0; i < element; i++)
        first += unit[i];
    return pieces(draft, first, unit[element], unit[element], 1, NULL, element);
}

struct part *dist_twod(struct draft *draft, uint64_t unit, uint64_t groups, uint64_t factor, uint32_t n_elements,
                       uint32_t element)
{
    uint64_t per_group = n_elements / groups, group = MIN(element / per_group, groups - 1);
    uint64_t first = group * per_group, members = group == groups - 1 ? n_elements - first : per_group;

    return pieces(draft, first * unit * factor + (element - first) * unit, unit, members * unit, factor, NULL, element);
}

/* One turn of a distribution: k indices in a row, slice bytes each; inner says what is selected of each index. */
static struct part *one_turn(struct draft *draft, uint64_t slice, uint64_t k, struct part *inner, uint32_t owner)
{
    struct parts reduced = { 0 };
    struct part *turn = pieces(draft, 0, slice, slice, k, inner, owner);

    if (turn != NULL)
        parts_reduce(draft, &reduced, turn);
    return reduced.first;
}

/* What process i has of one dimension of n indices, slice bytes each; inner says what is selected of each index. */
static struct part *dist_dimension(struct draft *draft, const struct dist *dist, uint64_t n, uint64_t slice, uint64_t i,
                                   struct part *inner, uint32_t owner)
{
    struct parts out = { 0 };
    uint64_t k, first, cycle, whole, rest;

    if (dist->kind == DIST_CYCLIC) {
        k = MIN(dist->k, n);
    } else {
        uint64_t p = dist->kind == DIST_BLOCK ? dist->grid : 1;

        k = n / p + (n % p != 0);
    }
    if (i > 0 && i > (n - 1) / k)
        return NULL;
    first = i * k;
    if (mul_overflows(k, dist->grid, &cycle))
        cycle = n;                                                            /* so large that no index comes round */
    whole = n - first < k ? 0 : (n - first - k) / cycle + 1;                  /* turns that deal all k */
    rest = n - first > whole * cycle ? MIN(n - first - whole * cycle, k) : 0; /* what the turn after them deals */
    if (whole > 0) {
        struct part *turn = one_turn(draft, slice, k, inner, owner);

        parts_append(&out, pieces(draft, first * slice, k * slice, cycle * slice, whole, turn, owner));
    }
    if (rest > 0) {
        struct part *turn = one_turn(draft, slice, rest, inner, owner);

        parts_append(&out, pieces(draft, (first + whole * cycle) * slice, rest * slice, 0, 1, turn, owner));
    }
    return out.first;
}

struct part *dist_array_element(struct draft *draft, const struct dist_array *dist, uint32_t element)
{
    const struct array *array = &dist->array;
    uint64_t index[ARRAY_MAX_DIMS], rest = element, slice = array->elem;
    struct part *inner = NULL;
    struct fault none;

    for (uint32_t dim = array->ndims; dim-- > 0; rest /= dist->dist[dim].grid)
        index[dim] = rest % dist->dist[dim].grid;
    for (uint32_t pace = 0; pace < array->ndims && draft->error == 0; pace++) {
        uint32_t dim = array_dim(array, pace);

        /* The list is put in order at once, since several parts of the next dimension will share it. */
        inner = parts_sweep(
            draft, dist_dimension(draft, &dist->dist[dim], array->size[dim], slice, index[dim], inner, element), &none);
        if (inner == NULL)
            return NULL;
        slice *= array->size[dim];
    }
    return inner;
}
