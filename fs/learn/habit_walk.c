/* SPDX-License-Identifier: MIT */
#include "fs/learn/habit.h"

/* Where part c of n steps begins, when p share them. */
static uint64_t share(uint64_t n, uint32_t p, uint32_t c, enum habit_rounding rounding)
{
    uint64_t each = n / p, more = n % p;

    switch (rounding) {
    case HABIT_CEIL:
        return MIN(c * (each + (more > 0)), n);
    case HABIT_LAST:
        return c == p ? n : c * each;
    case HABIT_SPREAD:
        return c * each + c * more / p;
    case HABIT_FIRST:
    case HABIT_ROUNDINGS:
        break;
    }
    return c * each + MIN(c, more);
}

static uint64_t shared(const struct habit_dim *dim)
{
    uint64_t n = dim->to - dim->from;

    return n > dim->overlap ? n - dim->overlap : 0;
}

uint64_t habit_part(const struct habit_dim *dim, uint32_t c)
{
    return dim->from + share(shared(dim), dim->grid, c, dim->rounding);
}

uint64_t habit_part_end(const struct habit_dim *dim, uint32_t c)
{
    return habit_part(dim, c + 1) + (dim->to - dim->from - shared(dim));
}

static uint64_t layer_end(const struct habit_pass *pass, uint32_t layer)
{
    struct habit_dim layers = pass->dim[pass->turn];

    layers.grid = pass->turns;
    return habit_part_end(&layers, layer);
}

/* Takes the parts that the rank has in a layer. */
static void enter_layer(struct habit_walk *walk, uint32_t layer)
{
    walk->layer = layer;
    for (uint32_t d = walk->pass->turn + 1; d < walk->pass->n_dims; d++) {
        const struct habit_dim *dim = &walk->pass->dim[d];
        uint32_t on = dim->way < 0 ? dim->grid - layer % dim->grid : dim->way > 0 ? layer : 0;
        uint32_t c = (walk->part[d] + on) % dim->grid;

        walk->lo[d] = walk->at[d] = habit_part(dim, c);
        walk->hi[d] = habit_part_end(dim, c);
    }
}

void habit_walk_init(struct habit_walk *walk, const struct habit_pass *pass, uint32_t rank)
{
    *walk = (struct habit_walk){ .pass = pass };
    for (uint32_t i = 0; i < pass->n_dims; i++) {
        uint32_t d = pass->reversed ? i : pass->n_dims - 1 - i, c = rank % pass->dim[d].grid;

        rank /= pass->dim[d].grid;
        walk->part[d] = c;
        walk->lo[d] = walk->at[d] = habit_part(&pass->dim[d], c);
        walk->hi[d] = habit_part_end(&pass->dim[d], c);
        walk->is_over |= walk->lo[d] >= walk->hi[d];
    }
}

/* One step on, in the last of the dimensions that are walked that has one left. */
static void step(struct habit_walk *walk)
{
    uint32_t d = walk->pass->whole;

    while (d > 0) {
        d--;
        if (++walk->at[d] < walk->hi[d])
            break;
        walk->at[d] = walk->lo[d];
        walk->is_over = d == 0;
    }
    walk->is_over |= walk->pass->whole == 0;
    if (walk->pass->turns == 0 || d > walk->pass->turn)
        return;
    if (d < walk->pass->turn)
        enter_layer(walk, 0);
    else if (walk->at[d] == layer_end(walk->pass, walk->layer))
        enter_layer(walk, walk->layer + 1);
}

bool habit_walk_next(struct habit_walk *walk, uint64_t *ret_off, uint64_t *ret_end)
{
    const struct habit_pass *pass = walk->pass;

    while (!walk->is_over) {
        uint32_t whole = pass->whole;
        uint64_t off = walk->lo[whole] * pass->dim[whole].stride, end = walk->hi[whole] * pass->dim[whole].stride;

        for (uint32_t d = 0; d < whole; d++) {
            off += walk->at[d] * pass->dim[d].stride;
            end += walk->at[d] * pass->dim[d].stride;
        }
        step(walk);
        if (off >= pass->end)
            continue;
        *ret_off = pass->base + off;
        *ret_end = pass->base + MIN(end, pass->end);
        return true;
    }
    return false;
}
