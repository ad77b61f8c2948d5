/* SPDX-License-Identifier: MIT */
#include "ioctl/fad.h"

bool asked_next(const struct asked *asked, uint64_t x, uint64_t *ret_byte)
{
    uint64_t rank = asked_rank(asked, x);

    if (rank == asked_size(asked))
        return false;
    *ret_byte = asked_select(asked, rank);
    return true;
}

bool asked_prev(const struct asked *asked, uint64_t x, uint64_t *ret_byte)
{
    uint64_t rank = x == UINT64_MAX ? asked_size(asked) : asked_rank(asked, x + 1);

    if (rank == 0)
        return false;
    *ret_byte = asked_select(asked, rank - 1);
    return true;
}

/* The next run of the view's bytes that is asked for, before end; where it is in the file. False: there is none. */
struct view_run {
    uint64_t rank, len; /* among what is asked for; in the beginning, of no bytes */
    uint64_t lo, hi;    /* in the file */
};

static bool next_view_run(const struct asked *asked, uint64_t end, struct view_run *run)
{
    uint64_t view_off;

    run->rank += run->len;
    if (run->rank == asked_size(asked))
        return false;
    view_off = asked_select_inner(asked, run->rank, &run->len);
    if (view_off >= end)
        return false;
    run->len = MIN(run->len, end - view_off);
    run->lo = nest_select(asked->through, view_off);
    run->hi = nest_select(asked->through, view_off + run->len - 1) + 1;
    return true;
}

size_t asked_gather_through(const struct asked *asked, uint64_t lo, uint64_t hi, const void *spread, void *packed)
{
    uint64_t end = nest_rank(asked->through, hi);
    struct view_run run = { .rank = asked_rank(asked, lo) };
    size_t moved = 0;

    while (next_view_run(asked, end, &run))
        moved += nest_gather(asked->through, run.lo, run.hi, (const uint8_t *) spread + (run.lo - lo),
                             (uint8_t *) packed + moved);
    return moved;
}

size_t asked_scatter_through(const struct asked *asked, uint64_t lo, uint64_t hi, void *spread, const void *packed)
{
    uint64_t end = nest_rank(asked->through, hi);
    struct view_run run = { .rank = asked_rank(asked, lo) };
    size_t moved = 0;

    while (next_view_run(asked, end, &run))
        moved += nest_scatter(asked->through, run.lo, run.hi, (uint8_t *) spread + (run.lo - lo),
                              (const uint8_t *) packed + moved);
    return moved;
}

struct fad fad_of(const struct asked asked[], uint32_t n)
{
    struct fad fad = { .asked = asked, .n = n, .lo = UINT64_MAX };

    for (uint32_t i = 0; i < n; i++) {
        uint64_t size = asked_size(&asked[i]);

        if (size == 0)
            continue;
        fad.total += size;
        fad.lo = MIN(fad.lo, asked_select(&asked[i], 0));
        fad.hi = MAX(fad.hi, asked_select(&asked[i], size - 1) + 1);
    }
    fad.lo = MIN(fad.lo, fad.hi);
    return fad;
}
