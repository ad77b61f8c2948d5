/* SPDX-License-Identifier: MIT */
#include "ioctl/exchange.h"

#include "ioctl/guard.h"

#define AHEAD (UINT64_C(1) << 20) /* bytes of a member's memory */

static int ready(const struct asked *asked, const struct portion *portion, bool missed, struct ready *found)
{
    uint64_t lo = portion->packed_off, hi = lo + portion->len;
    int r;

    if (asked->ready == NULL || (!missed && lo >= found->lo && hi <= found->hi))
        return 0;
    hi = MAX(hi, MIN(asked_size(asked), lo + AHEAD));
    r = asked->ready(asked->memory, asked->buf + lo, hi - lo, missed);
    if (r == 0)
        *found = (struct ready){ lo, hi };
    return r;
}

int exchange_ready(const struct fad *fad, const struct window *window, struct ready found[])
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < window->n; i++) {
        const struct portion *portion = &window->portion[i];

        r = ready(&fad->asked[portion->member], portion, false, &found[portion->member]);
    }
    return r;
}

struct move {
    const struct fad *fad;
    const struct window *window;
    uint64_t lo, hi;
    const void *from;
    void *to; /* NULL: into the members' memory */
};

static void run_move(void *arg)
{
    const struct move *move = arg;

    for (uint32_t i = 0; i < move->window->n; i++) {
        const struct portion *portion = &move->window->portion[i];
        const struct asked *asked = &move->fad->asked[portion->member];
        uint64_t packed_off = move->lo == move->window->lo ? portion->packed_off : asked_rank(asked, move->lo);

        if (move->to == NULL)
            asked_gather(asked, move->lo, move->hi, move->from, asked->buf + packed_off);
        else
            asked_scatter(asked, move->lo, move->hi, move->to, asked->buf + packed_off);
    }
}

/* All over again, when some memory was missed and is there then: it takes the same bytes to the same places. */
static int do_move(struct move *move)
{
    int r = guard_run(run_move, move);

    if (r == 0)
        return 0;
    for (uint32_t i = 0; i < move->window->n; i++) {
        const struct portion *portion = &move->window->portion[i];
        struct ready found;

        r = ready(&move->fad->asked[portion->member], portion, true, &found);
        if (r < 0)
            return r;
    }
    return guard_run(run_move, move);
}

int exchange_deliver(const struct fad *fad, const struct window *window, uint64_t lo, uint64_t hi, const void *bytes)
{
    struct move move = { .fad = fad, .window = window, .lo = lo, .hi = hi, .from = bytes };

    return do_move(&move);
}

int exchange_collect(const struct fad *fad, const struct window *window, uint64_t lo, uint64_t hi, void *bytes)
{
    struct move move = { .fad = fad, .window = window, .lo = lo, .hi = hi, .to = bytes };

    return do_move(&move);
}
