/* SPDX-License-Identifier: MIT */
#include "test/arrays/dealt.h"

static int owner(const int distribution[2], int nprocs, int size, int index)
{
    if (distribution[0] == PASSION_NONE)
        return 0;
    if (distribution[0] == PASSION_BLOCK)
        return index / ((size + nprocs - 1) / nprocs);
    return index / MAX(distribution[1], 1) % nprocs;
}

static void deal_out(struct dealt *dealt)
{
    memset(dealt->part, 0, sizeof dealt->part);
    for (uint32_t p = 0; p < dealt->n; p++) {
        uint32_t rest = p;

        for (uint32_t d = dealt->array.ndims; d-- > 0; rest /= (uint32_t) dealt->nprocs[d])
            for (int i = 0; i < dealt->size[d]; i++)
                if (owner(dealt->distribution[d], dealt->nprocs[d], dealt->size[d], i) ==
                    (int) (rest % (uint32_t) dealt->nprocs[d]))
                    dealt->part[p].whole[d][dealt->part[p].size[d]++] = (uint64_t) i;
    }
}

static void make(struct dealt *dealt, struct rng *rng, uint32_t n)
{
    uint32_t left = n;

    memset(dealt, 0, sizeof *dealt);
    dealt->array = files_array(rng, (uint32_t) rng_between(rng, 1, DEALT_MAX_DIMS));
    dealt->n = 1;
    for (uint32_t d = 0; d < dealt->array.ndims; d++) {
        uint32_t procs = (uint32_t) rng_between(rng, 1, MIN(left, 4));

        if (d == dealt->array.ndims - 1)
            procs = left;
        while (left % procs != 0)
            procs--;
        left /= procs;
        dealt->n *= procs;
        dealt->size[d] = (int) dealt->array.size[d];
        dealt->nprocs[d] = (int) procs;
        dealt->distribution[d][0] = (int) (procs > 1 ? rng_between(rng, 1, 2) : rng_below(rng, 3));
        dealt->distribution[d][1] = (int) rng_below(rng, 5);
        for (int side = 0; side < 2; side++)
            dealt->overlap[d][side] = (int) rng_below(rng, 4);
        if (rng_chance(rng, 60))
            dealt->icla[d][0] = (int) rng_between(rng, 1, dealt->array.size[d] + 1);
        if (dealt->icla[d][0] > 0 && rng_chance(rng, 40))
            dealt->icla[d][1] =
                dealt->icla[d][0] + dealt->overlap[d][0] + dealt->overlap[d][1] + (int) rng_below(rng, 3);
    }
    deal_out(dealt);
}

void dealt_make(struct dealt *dealt, struct rng *rng)
{
    make(dealt, rng, (uint32_t) rng_between(rng, 1, DEALT_MAX_PROCS));
}

void dealt_make_for(struct dealt *dealt, struct rng *rng, uint32_t n)
{
    make(dealt, rng, n);
}

void dealt_leave_room(struct dealt *dealt, struct rng *rng)
{
    for (uint32_t d = 0; d < dealt->array.ndims; d++)
        for (uint32_t p = 0; p < dealt->n; p++) {
            int room = (int) (dealt->part[p].size[d] + rng_below(rng, 3));

            dealt->ocla[d] = MAX(dealt->ocla[d], room);
        }
}

void dealt_room(const struct dealt *dealt, uint32_t p, uint64_t ret_size[])
{
    for (uint32_t d = 0; d < dealt->array.ndims; d++)
        ret_size[d] = dealt->ocla[d] > 0 ? (uint64_t) dealt->ocla[d] : dealt->part[p].size[d];
}

OCAD *dealt_ocad(const struct dealt *dealt)
{
    struct dealt d = *dealt;
    OCAD *ocad = PASSION_malloc_OCAD((int) d.array.ndims);

    EXPECT(ocad != NULL);
    EXPECT(PASSION_fill_OCAD(ocad, d.size, d.distribution, d.nprocs, d.ocla, d.icla, d.overlap, (int) d.array.elem,
                             (int) d.array.order) == 0);
    return ocad;
}

void dealt_memory(const struct dealt *dealt, uint32_t p, uint64_t ret_size[])
{
    for (uint32_t d = 0; d < dealt->array.ndims; d++) {
        uint64_t icla = dealt->icla[d][0] > 0 ? (uint64_t) dealt->icla[d][0] : dealt->part[p].size[d];

        ret_size[d] = dealt->icla[d][1] > 0 ? (uint64_t) dealt->icla[d][1]
                                            : icla + (uint64_t) (dealt->overlap[d][0] + dealt->overlap[d][1]);
    }
}
