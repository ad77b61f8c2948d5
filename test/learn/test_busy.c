/* SPDX-License-Identifier: MIT */
/* How long disks are busy, beside doing it byte by byte; and which layouts that is said to favour. */
#include "fs/learn/busy.h"
#include "test/learn/learned.h"
#include "test/support/oracle.h"
#include "test/support/texts.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#define N_DISKS 3

/* One disk, where its head is, what it was busy with, and when it is free. */
struct disk {
    uint32_t element;
    uint64_t next, ns, free_at;
    bool was_used;
};

/* A seek, unless what lies between is read over in less. */
static uint64_t way_of(const struct disk *on, uint32_t element, uint64_t sub_off, const struct disk_cost *cost)
{
    uint64_t bytes = on->next > sub_off ? on->next - sub_off : sub_off - on->next;

    return on->was_used && on->element == element ? MIN(bytes * (1000000000 / cost->rate), cost->seek) : cost->seek;
}

/* Does one touch on the disks, each element in turn: its first byte says whether there is a seek. ready: when its rank
 * asks, and then when it has all. */
static void do_touch(struct disk disk[static N_DISKS], const struct oracle *oracle, const struct touch *touch,
                     const struct disk_costs costs[static N_DISKS], uint64_t *ready, struct busy *sum)
{
    const uint64_t asked_at = *ready;

    for (uint32_t element = 0; element <= oracle->n_elements; element++) {
        uint32_t index = element < oracle->n_elements ? element % N_DISKS : 0;
        const struct disk_cost *cost = touch->writes ? &costs[index].write : &costs[index].read;
        struct disk *on = &disk[index];
        uint64_t bytes = 0, before = on->ns;

        for (uint64_t byte = touch->off; byte < touch->end; byte++) {
            struct oracle_place place = oracle_map(oracle, byte);

            if (MIN(place.element, oracle->n_elements) != element)
                continue;
            if (bytes++ == 0) {
                uint64_t way = way_of(on, element, place.sub_off, cost);

                sum->requests++;
                sum->seeks += way > 0;
                on->ns += cost->call + way;
                on->next = place.sub_off;
            }
            on->next++;
            on->ns += 1000000000 / cost->rate;
            on->element = element;
            on->was_used = true;
        }
        if (bytes > 0) {
            on->free_at = MAX(on->free_at, asked_at) + on->ns - before;
            *ready = MAX(*ready, on->free_at);
        }
    }
    sum->elapsed = MAX(sum->elapsed, *ready);
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
        uint64_t ready[LEARNED_PROCESSES + 1] = { 0 };
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
                do_touch(disk, &oracle, &touches.touch[i], costs, &ready[touches.touch[i].rank], &want);
        cr_assert(busy.requests == want.requests && busy.seeks == want.seeks,
                  RNG_SEED ": %" PRIu64 " requests, %" PRIu64 " seeks, counted %" PRIu64 " and %" PRIu64 "\n%s",
                  rng.seed, busy.requests, busy.seeks, want.requests, want.seeks, oracle.text);
        cr_assert_eq(busy.elapsed, want.elapsed, RNG_SEED, rng.seed);
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

static struct busy busy_of(const struct touches *touches, const char *text, const struct disk_cache *cache)
{
    const struct disk_cost cost = { .seek = 8000000, .call = 100000, .rate = 100000000 };
    const struct disk_costs costs[] = { { cost, cost }, { cost, cost }, { cost, cost }, { cost, cost } };
    cleanup(layout_freep) struct layout *layout = layout_of(text);
    struct busy busy;

    cr_assert_eq(busy_init_cached(&busy, layout->pattern, 4, touches, EXTENTS_ALL, costs, cache), 0);
    return busy;
}

static struct touches touches_of(const struct busy_case *row, bool writes)
{
    struct touches touches = { .n_ranks = 4 };

    for (uint64_t i = 0; i < row->n; i++)
        for (uint32_t rank = 0; rank < (row->part > 0 ? 4 : 1); rank++) {
            uint64_t off = i * row->step + rank * row->part;

            cr_assert(array_grow(touches.touch, touches.n));
            touches.touch[touches.n++] = (struct touch){ off, off + row->len, i, rank, writes, false };
        }
    return touches;
}

ParameterizedTest(struct busy_case *row, busy, favours)
{
    struct touches touches = touches_of(row, false);
    struct busy better = busy_of(&touches, row->better, NULL), worse = busy_of(&touches, row->worse, NULL);

    cr_expect_lt(better.most, worse.most, "%s", row->why);
    busy_done(&better);
    busy_done(&worse);
    touches_done(&touches);
}

/* -- with what is in memory -- */

static const struct disk_cache cache = { .page = 4096, .ahead = 128 << 10 };

ParameterizedTestParameters(busy, waits)
{
    static struct busy_case rows[] = {
        { "one reader wants all disks at once", 64, 256 << 10, 256 << 10, 0, "stripe(64K,4)", "stripe(1M,4)" },
        { "four in step want a disk each", 256, 128 << 10, 32 << 10, 32 << 10, "stripe(32K,4)", "stripe(1M,4)" },
        { "overlaps are read once", 256, 120 << 10, 32 << 10, 30 << 10, "stripe(30K,4)", "stripe(1M,4)" },
    };

    return cr_make_param_array(struct busy_case, rows, ARRAY_SIZE(rows));
}

ParameterizedTest(struct busy_case *row, busy, waits)
{
    struct touches touches = touches_of(row, false);
    struct busy better = busy_of(&touches, row->better, &cache), worse = busy_of(&touches, row->worse, &cache);

    cr_expect_lt(2 * better.elapsed, worse.elapsed, "%s", row->why);
    cr_expect_leq(better.most, better.elapsed, "%s", row->why);
    busy_done(&better);
    busy_done(&worse);
    touches_done(&touches);
}

Test(busy, small_reads_in_order_are_read_ahead)
{
    const struct busy_case small = { .n = 512, .step = 2048, .len = 2048 };
    struct touches touches = touches_of(&small, false);
    struct busy busy = busy_of(&touches, "one", &cache);

    cr_expect_eq(busy.requests, 8);
    cr_expect_eq(busy.seeks, 1);
    busy_done(&busy);
    touches_done(&touches);
}

/* Whatever the order, it goes to the disks once and in order. */
Test(busy, writes_wait_until_all_is_over)
{
    const struct busy_case small = { .n = 1024, .step = 4096, .len = 1024, .part = 1024 };
    struct touches touches = touches_of(&small, true);
    struct busy busy;

    for (size_t i = 0; i < touches.n / 2; i++) {
        struct touch other = touches.touch[touches.n - 1 - i];

        touches.touch[touches.n - 1 - i] = touches.touch[i];
        touches.touch[i] = other;
    }
    busy = busy_of(&touches, "stripe(1M,4)", &cache);
    cr_expect_eq(busy.requests, 4);
    cr_expect_eq(busy.seeks, 4);
    cr_expect_eq(busy.elapsed, busy.most);
    busy_done(&busy);
    touches_done(&touches);
}

Test(busy, far_away_nothing_is_remembered)
{
    const uint64_t far = UINT64_C(1) << 50;
    struct touches touches = { .n_ranks = 1 };
    struct busy busy;

    for (uint64_t i = 0; i < 4; i++) {
        cr_assert(array_grow(touches.touch, touches.n));
        touches.touch[touches.n++] = (struct touch){ far, far + 100, i, 0, i % 2 == 1, false };
    }
    busy = busy_of(&touches, "one", &cache);
    cr_expect_eq(busy.requests, 4);
    busy_done(&busy);
    touches_done(&touches);
}
