/* SPDX-License-Identifier: MIT */
/* Disks of which everything is known are measured, with noise; what is worked out must be what they are. */
#include "fs/learn/cost.h"
#include "test/support/rng.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <math.h>

static const uint32_t sizes[] = { 512, 1024, 2048, 4096, 32768, 65536, 131072, 524288, 1048576 };

#define ROUNDS  25
#define SAMPLES (ROUNDS * 2 * ARRAY_SIZE(sizes))

/* ns of one request. */
static double time_of(const struct disk_cost *cost, uint32_t bytes, bool apart)
{
    return (double) cost->call + (apart ? (double) cost->seek : 0) + bytes * 1e9 / (double) cost->rate;
}

/* A factor near 1; for one in ten requests somebody else keeps the disk busy. */
static double noise(struct rng *rng, unsigned percent)
{
    double factor = 1 + ((double) rng_below(rng, 2001) / 1000 - 1) * percent / 100;

    return percent > 0 && rng_chance(rng, 10) ? factor * (double) rng_between(rng, 2, 8) : factor;
}

static size_t measure(struct rng *rng, const struct disk_cost *cost, unsigned percent, struct cost_sample sample[])
{
    size_t n = 0;

    for (unsigned round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
            for (int apart = 0; apart < 2; apart++) {
                uint32_t times = (uint32_t) rng_between(rng, 1, 16);
                double ns = time_of(cost, sizes[i], apart != 0) * times * noise(rng, percent);

                sample[n++] = (struct cost_sample){ sizes[i], times, apart != 0, (uint64_t) (ns + 0.5) };
            }
    for (size_t i = n; i > 1; i--) {
        size_t j = rng_below(rng, i);
        struct cost_sample one = sample[i - 1];

        sample[i - 1] = sample[j];
        sample[j] = one;
    }
    return n;
}

static bool is_near(double got, double want, double percent)
{
    return fabs(got - want) <= want * percent / 100;
}

static struct disk_cost random_disk(struct rng *rng)
{
    return (struct disk_cost){ .call = rng_between(rng, 10000, 2000000),
                               .seek = rng_chance(rng, 20) ? 0 : rng_between(rng, 0, 20000000),
                               .rate = UINT64_C(1) << rng_between(rng, 20, 31) };
}

Test(cost, is_what_the_disk_needs)
{
    for (struct rng rng = rng_from_env(2000); rng_next(&rng);) {
        struct disk_cost want = random_disk(&rng), got;
        unsigned percent = (unsigned) rng_below(&rng, 2) * 4;
        double off = percent > 0 ? 5 : 0.5;
        struct cost_sample sample[SAMPLES];
        size_t n = measure(&rng, &want, percent, sample);

        cr_assert_eq(cost_fit(sample, n, &got), 0);
        for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
            for (int apart = 0; apart < 2; apart++)
                cr_assert(is_near(time_of(&got, sizes[i], apart != 0), time_of(&want, sizes[i], apart != 0), off),
                          RNG_SEED ": %u bytes%s take %g ns, not %g", rng.seed, sizes[i], apart != 0 ? ", apart," : "",
                          time_of(&want, sizes[i], apart != 0), time_of(&got, sizes[i], apart != 0));
        /* Each alone, where it is half of what some request takes. */
        if ((double) want.call > time_of(&want, sizes[0], false) / 2)
            cr_assert(is_near((double) got.call, (double) want.call, off), RNG_SEED ": call %" PRIu64 ", not %" PRIu64,
                      rng.seed, want.call, got.call);
        if ((double) want.seek > time_of(&want, sizes[0], true) / 2)
            cr_assert(is_near((double) got.seek, (double) want.seek, off), RNG_SEED ": seek %" PRIu64 ", not %" PRIu64,
                      rng.seed, want.seek, got.seek);
        if ((double) want.call < time_of(&want, sizes[ARRAY_SIZE(sizes) - 1], false) / 2)
            cr_assert(is_near((double) got.rate, (double) want.rate, off), RNG_SEED ": rate %" PRIu64 ", not %" PRIu64,
                      rng.seed, want.rate, got.rate);
    }
}

Test(cost, spread_tells_whether_others_use_the_disk)
{
    struct rng rng = rng_from_seed(1);
    struct disk_cost disk = random_disk(&rng);
    struct cost_sample sample[SAMPLES];

    cr_expect(cost_spread(sample, 0) == 0);
    cr_expect_lt(cost_spread(sample, measure(&rng, &disk, 0, sample)), 0.001);
    cr_expect_gt(cost_spread(sample, measure(&rng, &disk, 80, sample)), 0.4);
}

Test(cost, median_of_what_was_measured)
{
    struct cost_sample sample[] = {
        { 512, 2, false, 600 }, { 512, 1, false, 100 }, { 512, 10, false, 2000 }, { 512, 1, true, 7 }
    };

    cr_expect(cost_median(sample, ARRAY_SIZE(sample), 512, false) == 200);
    cr_expect(cost_median(sample, ARRAY_SIZE(sample), 512, true) == 7);
    cr_expect(cost_median(sample, ARRAY_SIZE(sample), 1024, true) == 0);
}

/* -- what no line explains -- */

struct odd_case {
    char why[40];
    size_t n;
    struct cost_sample sample[4];
    int r;
    struct disk_cost want;
};

ParameterizedTestParameters(cost, odd)
{
    static struct odd_case rows[] = {
        { "nothing", 0, { { 0 } }, -ENODATA, { 0 } },
        { "nothing that follows", 1, { { 4096, 1, true, 5000 } }, -ENODATA, { 0 } },
        { "one size", 1, { { 1000, 1, false, 5000 } }, 0, { 0, 0, 200000000 } },
        { "one size, and apart", 2, { { 1000, 1, false, 5000 }, { 1000, 1, true, 9000 } }, 0, { 4000, 0, 200000000 } },
        { "apart is quicker", 2, { { 1000, 1, false, 5000 }, { 1000, 1, true, 4000 } }, 0, { 0, 0, 200000000 } },
        { "apart in another size", 2, { { 1000, 1, false, 5000 }, { 2000, 1, true, 9000 } }, 0, { 0, 0, 200000000 } },
        { "large ones take less",
          2,
          { { 1000, 1, false, 5000 }, { 9000, 1, false, 4000 } },
          0,
          { 0, 4000, 225000000000 } },
        { "no time at all", 2, { { 1000, 1, false, 0 }, { 9000, 1, false, 0 } }, 0, { 0, 1, 900000000000000 } },
    };

    return cr_make_param_array(struct odd_case, rows, ARRAY_SIZE(rows));
}

ParameterizedTest(struct odd_case *row, cost, odd)
{
    struct disk_cost got = { 1, 2, 3 };
    int r = cost_fit(row->sample, row->n, &got);

    cr_assert_eq(r, row->r, "%s: %d", row->why, r);
    if (r < 0)
        cr_expect(got.seek == 1 && got.call == 2 && got.rate == 3, "%s: results stay as they were", row->why);
    else
        cr_expect(got.seek == row->want.seek && got.call == row->want.call && got.rate == row->want.rate,
                  "%s: seek %" PRIu64 ", call %" PRIu64 ", rate %" PRIu64, row->why, got.seek, got.call, got.rate);
}
