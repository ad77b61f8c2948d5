/* SPDX-License-Identifier: MIT */
#include "ioctl/exchange.h"

#include "ioctl/guard.h"
#include "layout/gather.h"

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
        uint64_t packed_off = move->lo == move->window->lo ? portion->packed_off : nest_rank(asked->nest, move->lo);

        if (move->to == NULL)
            nest_gather(asked->nest, move->lo, move->hi, move->from, asked->buf + packed_off);
        else
            nest_scatter(asked->nest, move->lo, move->hi, move->to, asked->buf + packed_off);
    }
}

int exchange_deliver(const struct fad *fad, const struct window *window, uint64_t lo, uint64_t hi, const void *bytes)
{
    struct move move = { .fad = fad, .window = window, .lo = lo, .hi = hi, .from = bytes };

    return guard_run(run_move, &move);
}

int exchange_collect(const struct fad *fad, const struct window *window, uint64_t lo, uint64_t hi, void *bytes)
{
    struct move move = { .fad = fad, .window = window, .lo = lo, .hi = hi, .to = bytes };

    return guard_run(run_move, &move);
}
