/* SPDX-License-Identifier: MIT */
/* Which pages come from the disk and which are in memory, beside a reading of every page. */
#include "fs/learn/pages.h"
#include "test/support/rng.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#define PAGE    16
#define N_PAGES 64

/* A page, and what is known of it. */
enum state { AWAY, AHEAD, HERE };

struct model {
    enum state page[N_PAGES + 16]; /* what is ahead may lie behind the end */
    bool written[N_PAGES];
    uint64_t ahead;
};

static struct page_ask read_model(struct model *model, uint64_t from, uint64_t len)
{
    struct page_ask ask = { 0 };
    uint64_t first = from / PAGE, end = (from + len + PAGE - 1) / PAGE;

    for (uint64_t i = first; i < end; i++) {
        if (model->page[i] == AWAY && !ask.goes) {
            bool reads_on = i == 0 || model->page[i - 1] == HERE;
            uint64_t to = reads_on ? MAX(end, i + model->ahead) : end;

            ask.goes = true;
            ask.from = i * PAGE;
            ask.to = to * PAGE;
            for (uint64_t k = i; k < to; k++)
                if (model->page[k] == AWAY)
                    model->page[k] = AHEAD;
        }
        ask.bytes += model->page[i] == HERE ? 0 : PAGE;
        model->page[i] = HERE;
    }
    return ask;
}

static void check_written(const struct model *model, const struct pages *pages, uint32_t slot, const struct rng *rng)
{
    uint64_t from, to, at = 0, done = 0;

    while (pages_written(pages, slot, &at, &from, &to)) {
        cr_assert(from % PAGE == 0 && to % PAGE == 0 && from < to && from / PAGE >= done, RNG_SEED, rng->seed);
        for (; done < to / PAGE; done++)
            cr_assert_eq(model->written[done], done >= from / PAGE, RNG_SEED ": page %" PRIu64, rng->seed, done);
    }
    for (; done < N_PAGES; done++)
        cr_assert_not(model->written[done], RNG_SEED ": page %" PRIu64, rng->seed, done);
}

Test(pages, are_what_memory_has)
{
    for (struct rng rng = rng_from_env(10000); rng_next(&rng);) {
        struct model model[2] = { { .ahead = rng_below(&rng, 8) } };
        struct pages pages;

        model[1].ahead = model[0].ahead;
        cr_assert_eq(pages_init(&pages, 2, PAGE, model[0].ahead * PAGE), 0);
        for (unsigned i = 0; i < 40; i++) {
            uint32_t slot = (uint32_t) rng_below(&rng, 2);
            uint64_t from = rng_below(&rng, N_PAGES * PAGE), len = rng_between(&rng, 1, MIN(80, N_PAGES * PAGE - from));
            struct page_ask got, want;

            if (rng_chance(&rng, 30)) {
                cr_assert_eq(pages_write(&pages, slot, from, len), 0);
                for (uint64_t page = from / PAGE; page * PAGE < from + len; page++)
                    model[slot].written[page] = true;
                continue;
            }
            want = read_model(&model[slot], from, len);
            cr_assert_eq(pages_read(&pages, slot, from, len, &got), 0);
            cr_assert(got.bytes == want.bytes && got.goes == want.goes && got.from == want.from && got.to == want.to,
                      RNG_SEED ": %" PRIu64 "+%" PRIu64 " asks for %" PRIu64 " bytes, [%" PRIu64 ",%" PRIu64 ")",
                      rng.seed, from, len, got.bytes, got.from, got.to);
        }
        check_written(&model[0], &pages, 0, &rng);
        check_written(&model[1], &pages, 1, &rng);
        pages_done(&pages);
    }
}

Test(pages, are_remembered_up_to_a_bound)
{
    struct pages pages;

    cr_assert_eq(pages_init(&pages, 4, PAGE, 0), 0);
    cr_expect(pages_reach(&pages, PAGES_MAX / 4 * PAGE - 1));
    cr_expect_not(pages_reach(&pages, PAGES_MAX / 4 * PAGE));
    pages_done(&pages);
}
