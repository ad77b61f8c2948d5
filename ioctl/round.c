/* SPDX-License-Identifier: MIT */
#include "ioctl/round.h"

#include "layout/clock.h"

static struct asked asked_by(const struct ask *ask)
{
    struct asked asked = wanted_asked(ask->wanted);

    asked.buf = ask->buf;
    asked.ready = ask->ready;
    asked.memory = ask->memory;
    return asked;
}

static struct asked *asked_of(const struct round *round)
{
    struct asked *asked = calloc(round->n, sizeof *asked);

    for (uint32_t i = 0; asked != NULL && i < round->n; i++)
        asked[i] = asked_by(round->entry[i].ask);
    return asked;
}

bool round_range(const struct round *round, uint64_t *ret_lo, uint64_t *ret_hi)
{
    uint64_t lo = UINT64_MAX, hi = 0;

    for (uint32_t i = 0; i < round->n; i++) {
        const struct asked asked = wanted_asked(round->entry[i].ask->wanted);
        uint64_t byte;

        if (asked_next(&asked, 0, &byte))
            lo = MIN(lo, byte);
        if (asked_prev(&asked, UINT64_MAX, &byte))
            hi = MAX(hi, byte + 1);
    }
    *ret_lo = lo;
    *ret_hi = hi;
    return lo < hi;
}

/* Where the arrays end, or where they all do. */
static uint64_t array_end(const struct round *round)
{
    uint64_t end = 0;

    for (uint32_t i = 0; i < round->n; i++)
        end = MAX(end, round->entry[i].ask->wanted->array_end);
    return end;
}

static bool is_planned(const struct round *round)
{
    const struct group_plan *plan = round->plan;

    if (plan->plan == NULL || plan->write != round->write)
        return false;
    for (uint32_t i = 0; i < round->n; i++)
        if (!wanted_equal(plan->wanted[i], round->entry[i].ask->wanted))
            return false;
    return true;
}

static int plan(struct round *round, const struct asked asked[], const struct store *store,
                const struct executor *executor)
{
    struct group_plan *keep = round->plan;
    struct collective_hints hints = *round->hints;
    struct collective_plan *plan = NULL;
    int r;

    if (keep->wanted == NULL) {
        keep->wanted = calloc(round->n, sizeof(struct wanted *));
        if (keep->wanted == NULL)
            return -ENOMEM;
        keep->n = round->n;
    }
    hints.max_window = executor->max_window;
    r = collective_plan_new(asked, round->n, round->write, array_end(round), &hints, store, executor->n_threads, &plan);
    if (r < 0)
        return r;
    collective_plan_free(keep->plan);
    keep->plan = plan;
    keep->write = round->write;
    for (uint32_t i = 0; i < round->n; i++) {
        wanted_put(keep->wanted[i]);
        keep->wanted[i] = wanted_ref(round->entry[i].ask->wanted);
    }
    return 0;
}

int round_run(struct round *round, const struct store *store, const struct executor *executor)
{
    struct executor until_unwanted = *executor;
    cleanup(freep) struct asked *asked = asked_of(round);
    uint64_t begin = clock_ns();
    int r = asked == NULL ? -ENOMEM : 0;

    round->stats.plan_reused = r == 0 && is_planned(round);
    if (r == 0 && !round->stats.plan_reused)
        r = plan(round, asked, store, executor);
    round->stats.ns_plan = clock_ns() - begin;
    until_unwanted.may_end = &round->unwanted;
    until_unwanted.n_done = &round->n_done;
    return r < 0 ? r : collective_run(round->plan->plan, asked, store, &until_unwanted, &round->stats.last);
}
