/* SPDX-License-Identifier: MIT */
#include "fs/learn/winner.h"

static void play(struct winner *winner, uint32_t match)
{
    uint32_t a = winner->best[2 * match], b = winner->best[2 * match + 1];

    winner->best[match] = winner->has[b] > winner->has[a] ? b : a;
}

int winner_init(struct winner *winner, uint32_t n)
{
    uint32_t size = 1;

    while (size < n)
        size *= 2;
    *winner = (struct winner){ size, calloc(size, sizeof *winner->has), calloc(size, 2 * sizeof *winner->best) };
    if (winner->has == NULL || winner->best == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < size; i++)
        winner->best[size + i] = i;
    for (uint32_t match = size - 1; match > 0; match--)
        play(winner, match);
    return 0;
}

void winner_done(struct winner *winner)
{
    free(winner->has);
    free(winner->best);
}

void winner_set(struct winner *winner, uint32_t rank, uint64_t has)
{
    winner->has[rank] = has;
    for (uint32_t match = (winner->size + rank) / 2; match > 0; match /= 2)
        play(winner, match);
}
