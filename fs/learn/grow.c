/* SPDX-License-Identifier: MIT */
#include "fs/learn/grow.h"

#include <math.h>

/* n * to / from, where that is a whole number. */
static bool scale(uint64_t n, uint64_t to, uint64_t from, uint64_t *ret_n)
{
    uint64_t common = from > 0 ? gcd_u64(n, from) : 0;

    if (from == 0 || to % (from / common) != 0 || mul_overflows(n / common, to / (from / common), &n) ||
        n > FALLS_LIMIT)
        return false;
    *ret_n = n;
    return true;
}

/* -- the array -- */

/* All dimensions become larger by the same factor. */
static bool grow_evenly(struct array *array, uint64_t from, uint64_t to)
{
    uint64_t first = array->size[0],
             then = (uint64_t) llround((double) first * pow((double) to / (double) from, 1.0 / array->ndims));

    for (uint32_t i = 0; i < array->ndims; i++)
        if (!scale(array->size[i], then, first, &array->size[i]))
            return false;
    return true;
}

/* The array that the file is when it has another size. What it has beside the array stays. */
static int grow_array(const struct habit *habit, const struct growing *growing, enum growth growth,
                      struct array *ret_array)
{
    const struct array *array = growing->array;
    struct array grown = growing->new_array != NULL ? *growing->new_array : *array;
    uint64_t before, beside, want, is;
    uint32_t dim = array_dim(array, growth == GROWTH_LENGTHS ? 0 : array->ndims - 1);
    bool comes_out = true;

    if (array_bytes(array, &before) < 0 || before > habit->size || habit->size - before > growing->size)
        return -EDOM;
    beside = habit->size - before;
    want = growing->size - beside;
    if (growing->new_array == NULL && want != before)
        comes_out = growth == GROWTH_EVENLY ? grow_evenly(&grown, before, want)
                                            : scale(grown.size[dim], want, before, &grown.size[dim]);
    if (!comes_out || array_bytes(&grown, &is) < 0 || is != want)
        return -EDOM;
    *ret_array = grown;
    return 0;
}

/* -- dimensions -- */

static bool is_full(const struct habit_dim *dim)
{
    return dim->from == 0 && dim->to == dim->n;
}

/* Gives a dimension another number of steps. What is touched of it stays all of it, or one step that is there. */
static bool set_steps(struct habit_dim *dim, uint64_t n)
{
    if (n == 0)
        return false;
    if (is_full(dim))
        dim->to = n;
    else if (n != dim->n && (dim->to - dim->from > 1 || dim->to > n))
        return false;
    dim->n = n;
    return true;
}

/* Cells lie in as many layers as in rows. */
static bool set_layers(struct habit_pass *pass, uint32_t side)
{
    for (uint32_t d = 0; d < pass->n_dims; d++)
        if ((pass->dim[d].way != 0 && pass->dim[d].grid != side) || (pass->dim[d].way == 0 && pass->dim[d].grid > 1))
            return false;
    if (pass->is_either_way && side > 2)
        return false;
    pass->turns = side;
    return true;
}

/* Whether no cell is empty. */
static bool has_cells(const struct habit_pass *pass)
{
    for (uint32_t c = 0; c < pass->turns; c++)
        for (uint32_t d = pass->turn; d < pass->n_dims; d++) {
            struct habit_dim dim = pass->dim[d];

            dim.grid = d == pass->turn ? pass->turns : dim.grid;
            if (c < dim.grid && habit_part(&dim, c) >= habit_part_end(&dim, c))
                return false;
        }
    return true;
}

/* Divided dimensions share the ranks. */
static bool grow_grid(struct habit_pass *pass, uint32_t from, uint32_t to, uint32_t which)
{
    uint32_t divided[HABIT_MAX_DIMS], n = 0, only, grid;

    for (uint32_t d = 0; d < pass->n_dims; d++)
        if (pass->dim[d].grid > 1)
            divided[n++] = d;
    if (from == to)
        return true;
    if (n == 0) {
        pass->copies = to;
        return true;
    }
    if (pass->copies > 1 || which > n)
        return false;
    if (n > 1 && which == 0) {
        grid = (uint32_t) lround(pow(to, 1.0 / n));
        only = pass->dim[divided[0]].grid;
        for (uint32_t i = 0; i < n; i++) {
            if (pass->dim[divided[i]].grid != only || grid == 0 || to % grid != 0)
                return false;
            to /= grid;
            pass->dim[divided[i]].grid = grid;
        }
        return to == 1 && (pass->turns == 0 || set_layers(pass, grid));
    }
    only = divided[which > 0 ? which - 1 : 0];
    grid = from / pass->dim[only].grid; /* of all others */
    if (to % grid != 0)
        return false;
    pass->dim[only].grid = to / grid;
    return pass->turns == 0 || set_layers(pass, pass->dim[only].grid);
}

/* Makes the dimensions of a pass through an array those of another array: of several that one of the array is made of,
 * the first one grows. */
static bool follow_array(struct habit_pass *pass, const struct array *from, const struct array *to)
{
    uint64_t stride = from->elem;

    for (uint32_t pace = 0; pace < from->ndims; pace++) {
        uint32_t dim = array_dim(from, pace), d = 0;
        uint64_t next = stride * from->size[dim], inner;

        while (d < pass->n_dims && pass->dim[d].stride >= next)
            d++;
        if (pace + 1 == from->ndims)
            d = 0;
        if (d == pass->n_dims || pass->dim[d].stride < stride)
            return false;
        inner = pass->dim[d].stride / stride;
        if (to->size[dim] != from->size[dim] && !set_steps(&pass->dim[d], (to->size[dim] + inner - 1) / inner))
            return false;
        stride = next;
    }
    return true;
}

static bool grow_all_dims(struct habit_pass *pass, uint64_t data)
{
    struct habit_dim *last = &pass->dim[pass->n_dims - 1];
    double factor = pow((double) data / (double) pass->end, 1.0 / pass->n_dims);
    uint64_t from = last->n, to = (uint64_t) llround((double) from * factor), bytes = last->stride;

    for (uint32_t d = 0; d < pass->n_dims; d++) {
        uint64_t n;

        if (!scale(pass->dim[d].n, to, from, &n) || mul_overflows(bytes, n, &bytes) || !set_steps(&pass->dim[d], n))
            return false;
    }
    return bytes == data;
}

/* A file without rows, of which a part is touched. */
static bool grow_part(struct habit_dim *dim, uint64_t data, uint64_t from, enum growth growth)
{
    dim->n = (data + dim->stride - 1) / dim->stride;
    return growth == GROWTH_NUMBERS ? dim->to <= dim->n
                                    : scale(dim->from, data, from, &dim->from) && scale(dim->to, data, from, &dim->to);
}

/* The array is not known: the last dimension grows, or the first one, which is as long as the file lets it be in the
 * end, or all. */
static bool grow_dims(struct habit_pass *pass, uint64_t data, enum growth growth)
{
    struct habit_dim *dim = &pass->dim[pass->n_dims - 1];
    uint64_t n = dim->n;

    if (data == pass->end)
        return true;
    if (pass->n_dims == 1)
        return is_full(dim) || (dim->grid == 1 && grow_part(dim, data, pass->end, growth));
    if (growth == GROWTH_EVENLY)
        return grow_all_dims(pass, data);
    return growth == GROWTH_NUMBERS || (scale(n, data, pass->end, &n) && set_steps(dim, n));
}

/* Parts that keep their length as there are more of them: what is divided becomes longer, and what it is in has fewer
 * of it. from: the parts there were before. */
static bool keep_parts(struct habit_pass *pass, const struct habit_pass *from, enum growth growth)
{
    for (uint32_t d = 1; d < pass->n_dims; d++) {
        struct habit_dim *dim = &pass->dim[d], *outer = dim - 1;
        uint64_t n, all;

        if (dim->grid == from->dim[d].grid || (pass->by_array ? dim->is_real : growth != GROWTH_NUMBERS))
            continue;
        if (!is_full(dim) || dim->overlap > 0 || from->dim[d].roundings != HABIT_ANY_ROUNDING || outer->grid > 1 ||
            !is_full(outer) || !scale(dim->n, dim->grid, from->dim[d].grid, &n) ||
            mul_overflows(dim->n, outer->n, &all) || (d > 1 && all % n != 0) || !set_steps(dim, n) ||
            !set_steps(outer, (all + n - 1) / n))
            return false;
    }
    return true;
}

/* Strides follow from steps. */
static bool set_strides(struct habit_pass *pass)
{
    struct habit_dim *dim = pass->dim;
    uint64_t all;

    for (uint32_t d = pass->n_dims - 1; d > 0; d--)
        if (mul_overflows(dim[d].n, dim[d].stride, &dim[d - 1].stride) || dim[d - 1].stride > FALLS_LIMIT)
            return false;
    return !mul_overflows(dim[0].n, dim[0].stride, &all) && all <= FALLS_LIMIT;
}

/* The first dimension is as long as the file lets it be. */
static bool set_size(struct habit_pass *pass, uint64_t data)
{
    struct habit_dim *dim = pass->dim;
    uint64_t n;

    if (!set_strides(pass))
        return false;
    n = (data + dim[0].stride - 1) / dim[0].stride;
    if (n != dim[0].n && !set_steps(&dim[0], n))
        return false;
    pass->end = data;
    for (uint32_t d = 0; d < pass->n_dims; d++)
        if (dim[d].to - dim[d].from <= dim[d].overlap && dim[d].grid > 1)
            return false;
    return has_cells(pass);
}

/* Parts that stay what they are: with more of them the file grows. Nothing says what becomes of what is not divided. */
static bool add_parts(struct habit_pass *pass, const struct habit_pass *from)
{
    bool is_divided = false;

    for (uint32_t d = 0; d < pass->n_dims; d++) {
        struct habit_dim *dim = &pass->dim[d];
        uint64_t n;

        is_divided |= dim->grid > 1 || from->dim[d].grid > 1;
        if (dim->grid == from->dim[d].grid)
            continue;
        if (!is_full(dim) || dim->roundings != HABIT_ANY_ROUNDING ||
            !scale(dim->n - dim->overlap, dim->grid, from->dim[d].grid, &n) || !set_steps(dim, n + dim->overlap))
            return false;
    }
    if (!is_divided || pass->end != from->dim[0].n * from->dim[0].stride || !set_strides(pass))
        return false;
    pass->end = pass->dim[0].n * pass->dim[0].stride;
    return true;
}

/* Whether the last of the first dimension's steps is as long as the others. */
static bool is_whole(const struct habit_pass *pass)
{
    return pass->end % pass->dim[0].stride == 0;
}

static bool grow_pass(struct habit_pass *pass, const struct habit *habit, uint32_t from, uint32_t to,
                      const struct growing *growing, const struct rule *rule, const struct array *array)
{
    const struct habit_pass before = *pass;
    uint64_t data = growing->size - pass->base;
    bool adds = from != to && rule->by_procs == GROWTH_EVENLY;
    bool rounds = from != to && (rule->by_procs == GROWTH_NUMBERS || pass->by_array); /* the last turn may be short */

    for (uint32_t d = 0; d < pass->n_dims; d++)
        if ((pass->dim[d].roundings & 1u << rule->rounding) != 0)
            pass->dim[d].rounding = rule->rounding;
    if (growing->size <= pass->base || !grow_grid(pass, from, to, rule->grid))
        return false;
    if (growing->size == habit->size && from == to && !pass->by_array)
        return true;
    if (adds && (pass->by_array ? growing->new_array == NULL : !add_parts(pass, &before)))
        return false;
    if (pass->by_array ? !follow_array(pass, growing->array, array) : !grow_dims(pass, data, rule->by_size))
        return false;
    if ((!adds || pass->by_array) && !keep_parts(pass, &before, rule->by_procs))
        return false;
    return set_size(pass, data) && (is_whole(pass) || !is_whole(&before) || rounds);
}

/* -- all of it -- */

/* Finds the group whose ranks become more; -EDOM: there is none, or more than one. */
static int find_growing(const struct habit *habit, uint32_t *ret_group)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < habit->n_groups; i++)
        if (habit->group[i].n_ranks > 1) {
            *ret_group = i;
            n++;
        }
    return n == 1 ? 0 : -EDOM;
}

uint64_t habit_size_of(const struct habit *habit, uint32_t n_ranks, const struct rule *rule)
{
    uint32_t group;
    struct habit_pass pass;
    uint32_t from, beside;

    if (rule->by_procs != GROWTH_EVENLY || find_growing(habit, &group) < 0)
        return 0;
    from = habit->group[group].n_ranks;
    beside = habit->n_ranks - from;
    pass = habit->pass[habit->group[group].first_pass];
    if (n_ranks <= beside || pass.by_array || !grow_grid(&pass, from, n_ranks - beside, rule->grid) ||
        !add_parts(&pass, &habit->pass[habit->group[group].first_pass]))
        return 0;
    return pass.base + pass.end;
}

static int copy_habit(const struct habit *habit, struct habit *ret_copy)
{
    struct habit copy = *habit;

    copy.group = malloc(MAX(habit->n_groups, 1) * sizeof *copy.group);
    copy.pass = malloc(MAX(habit->n_passes, 1) * sizeof *copy.pass);
    copy.in_turn = malloc(MAX(habit->n_stages, 1) * sizeof *copy.in_turn);
    if (copy.group == NULL || copy.pass == NULL || copy.in_turn == NULL) {
        habit_done(&copy);
        return -ENOMEM;
    }
    memcpy(copy.group, habit->group, habit->n_groups * sizeof *copy.group);
    memcpy(copy.pass, habit->pass, habit->n_passes * sizeof *copy.pass);
    memcpy(copy.in_turn, habit->in_turn, habit->n_stages * sizeof *copy.in_turn);
    *ret_copy = copy;
    return 0;
}

int habit_grow(const struct habit *habit, const struct growing *growing, const struct rule *rule,
               struct habit *ret_grown, struct array *ret_array)
{
    struct array array = { 0 };
    struct habit grown;
    uint32_t growing_group = 0, more = growing->n_ranks - habit->n_ranks; /* modulo 2^32, as it is added */
    int r = growing->n_ranks != habit->n_ranks ? find_growing(habit, &growing_group) : 0;

    if (r == 0 && growing->array != NULL)
        r = grow_array(habit, growing, rule->by_size, &array);
    if (r == 0 && growing->n_ranks < habit->n_ranks &&
        habit->n_ranks - growing->n_ranks >= habit->group[growing_group].n_ranks)
        r = -EDOM;
    if (r == 0)
        r = copy_habit(habit, &grown);
    if (r < 0)
        return r;
    grown.n_ranks = growing->n_ranks;
    grown.size = growing->size;
    for (uint32_t i = 0; i < grown.n_groups; i++) {
        struct habit_group *group = &grown.group[i];
        uint32_t from = group->n_ranks;

        group->n_ranks += i == growing_group ? more : 0;
        for (uint32_t k = 0; r == 0 && k < group->n_passes; k++)
            if (!grow_pass(&grown.pass[group->first_pass + k], habit, from, group->n_ranks, growing, rule, &array))
                r = -EDOM;
    }
    if (r < 0) {
        habit_done(&grown);
        return r;
    }
    *ret_grown = grown;
    *ret_array = array;
    return 0;
}

static bool dim_equal(const struct habit_dim *a, const struct habit_dim *b)
{
    return a->n == b->n && a->stride == b->stride && a->from == b->from && a->to == b->to && a->overlap == b->overlap &&
           a->grid == b->grid && a->rounding == b->rounding;
}

bool habit_equal(const struct habit *a, const struct habit *b)
{
    if (a->n_ranks != b->n_ranks || a->size != b->size)
        return false;
    for (size_t i = 0; i < a->n_passes; i++) {
        const struct habit_pass *x = &a->pass[i], *y = &b->pass[i];

        if (x->copies != y->copies || x->end != y->end || x->turns != y->turns)
            return false;
        for (uint32_t d = 0; d < x->n_dims; d++)
            if (!dim_equal(&x->dim[d], &y->dim[d]))
                return false;
    }
    return true;
}
