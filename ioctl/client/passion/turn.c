/* SPDX-License-Identifier: MIT */
#include "ioctl/client/passion/turn.h"

static uint64_t divide_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

static struct turn_dim dim_of(const struct deal *deal, uint64_t size)
{
    uint64_t k = MIN(deal_block(deal, size), size), rounds = divide_up(divide_up(size, k), deal->nprocs);
    bool by_offset = k < rounds;

    return (struct turn_dim){ .by_offset = by_offset, .n = by_offset ? k : rounds, .most = by_offset ? rounds : k };
}

void turns_init(struct turns *turns, const OCAD *ocad, uint64_t bytes)
{
    uint64_t left = MAX(bytes / ocad->array.elem, 1); /* elements of a turn */

    *turns = (struct turns){ .ocad = ocad, .n = 1 };
    for (uint32_t pace = 0; pace < ocad->array.ndims; pace++) {
        uint32_t d = array_dim(&ocad->array, pace);
        struct turn_dim *dim = &turns->dim[d];

        *dim = dim_of(&ocad->deal[d], ocad->array.size[d]);
        dim->cut = MIN(dim->most, left);
        dim->n_cuts = divide_up(dim->most, dim->cut);
        left /= dim->cut;
        left = MAX(left, 1);
        turns->n *= dim->n * dim->n_cuts;
    }
}

/* Progression i of a dimension: its first index in the part and in the whole array, and how far apart they are. */
static void progression(const struct turns *turns, uint32_t d, uint64_t place, uint64_t i, int64_t part[3],
                        int64_t whole[3])
{
    const struct deal *deal = &turns->ocad->deal[d];
    uint64_t k = MIN(deal_block(deal, turns->ocad->array.size[d]), turns->ocad->array.size[d]);
    bool by_offset = turns->dim[d].by_offset;

    part[0] = (int64_t) (by_offset ? i : i * k);
    part[2] = (int64_t) (by_offset ? k : 1);
    whole[0] = (int64_t) (by_offset ? place * k + i : (i * deal->nprocs + place) * k);
    whole[2] = (int64_t) (by_offset ? k * deal->nprocs : 1);
}

/* Of a progression the indexes from number first on, as far as the cut, the progression and the part go. */
static void cut(const struct turn_dim *dim, uint64_t n_part, uint64_t first, int64_t part[3], int64_t whole[3])
{
    uint64_t n = MIN(dim->cut, dim->most - first), lower = (uint64_t) part[0] + first * (uint64_t) part[2];

    n = lower < n_part ? MIN(n, divide_up(n_part - lower, (uint64_t) part[2])) : 0;
    part[0] = n > 0 ? (int64_t) lower : 1;
    part[1] = n > 0 ? (int64_t) (lower + (n - 1) * (uint64_t) part[2]) : 0;
    whole[0] = n > 0 ? whole[0] + (int64_t) first * whole[2] : 1;
    whole[1] = n > 0 ? whole[0] + (int64_t) (n - 1) * whole[2] : 0;
}

void turns_get(const struct turns *turns, uint64_t process, uint64_t t, int64_t ret_part[][3], int64_t ret_whole[][3])
{
    struct array part = ocad_part(turns->ocad, process);
    uint64_t place[ARRAY_MAX_DIMS];

    ocad_place(turns->ocad, process, place);
    for (uint32_t d = 0; d < part.ndims; d++) {
        const struct turn_dim *dim = &turns->dim[d];
        uint64_t of_dim = t % (dim->n * dim->n_cuts);

        t /= dim->n * dim->n_cuts;
        progression(turns, d, place[d], of_dim / dim->n_cuts, ret_part[d], ret_whole[d]);
        cut(dim, part.size[d], of_dim % dim->n_cuts * dim->cut, ret_part[d], ret_whole[d]);
    }
}
