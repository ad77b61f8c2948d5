/* SPDX-License-Identifier: MIT */
/* How long disks are busy, beside doing it byte by byte; and which layouts that is said to favour. */
#include "fs/learn/busy.h"
#include "test/learn/learned.h"
#include "test/support/oracle.h"
#include "test/support/texts.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#define N_DISKS 3

/* One disk, where its head is, and what it was busy with. */
struct disk {
    uint32_t element;
    uint64_t next, ns;
    bool was_used;
};

/* Does one touch on the disks, each element in turn: its first byte says whether there is a seek. */
static void do_touch(struct disk disk[static N_DISKS], const struct oracle *oracle, const struct touch *touch,
                     const struct disk_costs costs[static N_DISKS], struct busy *sum)
{
    for (uint32_t element = 0; element <= oracle->n_elements; element++) {
        uint32_t index = element < oracle->n_elements ? element % N_DISKS : 0;
        const struct disk_cost *cost = touch->writes ? &costs[index].write : &costs[index].read;
        struct disk *on = &disk[index];
        uint64_t bytes = 0;

        for (uint64_t byte = touch->off; byte < touch->end; byte++) {
            struct oracle_place place = oracle_map(oracle, byte);

            if (MIN(place.element, oracle->n_elements) != element)
                continue;
            if (bytes++ == 0) {
                bool seeks = !on->was_used || on->element != element || on->next != place.sub_off;

                sum->requests++;
                sum->seeks += seeks;
                on->ns += cost->call + (seeks ? cost->seek : 0);
                on->next = place.sub_off;
            }
            on->next++;
            on->ns += 1000000000 / cost->rate;
            on->element = element;
            on->was_used = true;
        }
    }
}

/* Elements of one disk are asked for in the order in which the range meets them, which the oracle does not know: with
 * no more elements than disks, and no header beside them, there is one order. */
static bool has_one_order(const struct oracle *oracle)
{
    return oracle->n_elements <= N_DISKS && oracle->disp == 0;
}

/* With a whole number of ns for each byte. */
static struct disk_cost random_cost(struct rng *rng)
{
    static const uint64_t rate[] = { 1000000, 2000000, 5000000, 100000000 };

    return (struct disk_cost){ .seek = rng_below(rng, 1000000),
                               .call = rng_below(rng, 1000),
                               .rate = rate[rng_below(rng, ARRAY_SIZE(rate))] };
}

Test(busy, is_what_disks_do)
{
    static struct oracle oracle;
    static struct learned learned;

    for (struct rng rng = rng_from_env(10000); rng_next(&rng);) {
        struct disk_costs costs[N_DISKS];
        enum extents_of of = (enum extents_of) rng_between(&rng, EXTENTS_READ, EXTENTS_ALL);
        cleanup(layout_freep) struct layout *layout = NULL;
        struct disk disk[N_DISKS] = { 0 };
        struct touches touches;
        struct busy want = { 0 }, busy;

        for (uint32_t i = 0; i < N_DISKS; i++)
            costs[i] = (struct disk_costs){ random_cost(&rng), random_cost(&rng) };
        do
            oracle_random(&oracle, &rng);
        while (!has_one_order(&oracle));
        learned_random(&learned, &rng);
        layout = layout_of(oracle.text);
        cr_assert_eq(touches_init(&touches, &learned.trace, 0, NULL), 0);
        cr_assert_eq(busy_init(&busy, layout->pattern, N_DISKS, &touches, of, costs), 0);
        for (size_t i = 0; i < touches.n; i++)
            if ((of & (touches.touch[i].writes ? EXTENTS_WRITTEN : EXTENTS_READ)) != 0)
                do_touch(disk, &oracle, &touches.touch[i], costs, &want);
        cr_assert(busy.requests == want.requests && busy.seeks == want.seeks,
                  RNG_SEED ": %" PRIu64 " requests, %" PRIu64 " seeks, counted %" PRIu64 " and %" PRIu64 "\n%s",
                  rng.seed, busy.requests, busy.seeks, want.requests, want.seeks, oracle.text);
        for (uint32_t i = 0; i < N_DISKS; i++)
            cr_assert_eq(busy.ns[i], disk[i].ns, RNG_SEED ": disk %" PRIu32, rng.seed, i);
        busy_done(&busy);
        touches_done(&touches);
    }
}

/* -- what is faster -- */

struct busy_case {
    char why[48];
    uint64_t n, step, len, part; /* n accesses of len bytes, step apart; of the next rank part further on */
    char better[32], worse[32];
};

ParameterizedTestParameters(busy, favours)
{
    static struct busy_case rows[] = {
        { "one stream wants all disks", 16, 4 << 20, 4 << 20, 0, "stripe(1M,4)", "one" },
        { "small reads want one disk each", 64, 64 << 10, 64 << 10, 0, "stripe(1M,4)", "stripe(4K,4)" },
        { "columns want columns", 64, 4096, 1024, 1024, "stripe(1K,4)", "stripe(1M,4)" },
    };

    return cr_make_param_array(struct busy_case, rows, ARRAY_SIZE(rows));
}

static uint64_t most_of(const struct touches *touches, const char *text)
{
    const struct disk_cost cost = { .seek = 8000000, .call = 100000, .rate = 100000000 };
    const struct disk_costs costs[] = { { cost, cost }, { cost, cost }, { cost, cost }, { cost, cost } };
    cleanup(layout_freep) struct layout *layout = layout_of(text);
    struct busy busy;
    uint64_t most;

    cr_assert_eq(busy_init(&busy, layout->pattern, 4, touches, EXTENTS_ALL, costs), 0);
    most = busy.most;
    busy_done(&busy);
    return most;
}

ParameterizedTest(struct busy_case *row, busy, favours)
{
    struct touches touches = { .n_ranks = 4 };

    for (uint64_t i = 0; i < row->n; i++)
        for (uint32_t rank = 0; rank < (row->part > 0 ? 4 : 1); rank++) {
            uint64_t off = i * row->step + rank * row->part;

            cr_assert(array_grow(touches.touch, touches.n));
            touches.touch[touches.n++] = (struct touch){ off, off + row->len, i, rank, false };
        }
    cr_expect_lt(most_of(&touches, row->better), most_of(&touches, row->worse), "%s", row->why);
    touches_done(&touches);
}
