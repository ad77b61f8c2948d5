/* SPDX-License-Identifier: MIT */
#include "fs/learn/chance.h"

#define ENOUGH      32 /* reads; of fewer nobody can tell */
#define MANY_TURNS  4  /* at one of that many reads it turns: at two of three, where there is no order at all */
#define SMALL_SHARE 4  /* of that many bytes one is read */

struct place {
    uint64_t off;
    size_t when;
};

static int by_place(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    if (x->off != y->off)
        return x->off < y->off ? -1 : 1;
    return x->when < y->when ? -1 : x->when > y->when;
}

static int by_time(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    return x->when < y->when ? -1 : x->when > y->when;
}

/* Leaves the first read of each place, in order of time. */
static size_t leave_new(struct place place[], size_t n)
{
    size_t left = 0;

    qsort(place, n, sizeof *place, by_place);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || place[i].off != place[i - 1].off)
            place[left++] = place[i];
    qsort(place, left, sizeof *place, by_time);
    return left;
}

/* Counts the reads of new places, and how often a rank turns, from going on to going back or from back to on. */
static int count(const struct touches *touches, size_t *ret_reads, size_t *ret_turns)
{
    cleanup(freep) struct place *place = malloc(MAX(touches->n, 1) * sizeof *place);
    cleanup(freep) uint32_t *touch = NULL;
    cleanup(freep) size_t *first = NULL;
    int r = place == NULL ? -ENOMEM : touches_by_rank(touches, &touch, &first);

    *ret_reads = *ret_turns = 0;
    for (uint32_t rank = 0; r == 0 && rank < touches->n_ranks; rank++) {
        size_t n = 0;

        for (size_t i = first[rank]; i < first[rank + 1]; i++)
            if (!touches->touch[touch[i]].writes)
                place[n++] = (struct place){ touches->touch[touch[i]].off, i };
        n = leave_new(place, n);
        *ret_reads += n;
        for (size_t i = 2; i < n; i++)
            *ret_turns += (place[i].off < place[i - 1].off) != (place[i - 1].off < place[i - 2].off);
    }
    return r;
}

/* The bytes that ranks read, and over how many they are spread. */
static void measure(const struct extents *read, uint64_t *ret_bytes, uint64_t *ret_span)
{
    uint64_t lo = UINT64_MAX, hi = 0;

    *ret_bytes = 0;
    for (uint32_t rank = 0; rank < read->n_ranks; rank++) {
        size_t begin = read->first[rank], end = read->first[rank + 1];

        if (begin == end)
            continue;
        *ret_bytes += extents_bytes(read, rank);
        lo = MIN(lo, read->segment[begin].off);
        hi = MAX(hi, read->segment[end - 1].end);
    }
    *ret_span = lo < hi ? hi - lo : 0;
}

int is_by_chance(const struct touches *touches, const struct extents *read, bool *ret_is)
{
    uint64_t bytes, span;
    size_t n, turns;
    int r = count(touches, &n, &turns);

    if (r < 0)
        return r;
    measure(read, &bytes, &span);
    *ret_is = n >= ENOUGH && turns >= n / MANY_TURNS && bytes <= span / SMALL_SHARE;
    return 0;
}
