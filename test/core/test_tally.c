/* SPDX-License-Identifier: MIT */
/* Tallies against an oracle that keeps every single time and looks at all of them. */
#include "fs/core/disk/tally.h"
#include "test/support/rng.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <math.h>
#include <pthread.h>

struct bucket_case {
    char why[40];
    uint64_t ns;
    uint32_t bucket;
};

ParameterizedTestParameters(tally, bucket)
{
    static struct bucket_case rows[] = {
        { "nothing", 0, 0 },
        { "a microsecond belongs to the first", 1000, 0 },
        { "a little more does not", 1001, 1 },
        { "two", 2000, 1 },
        { "two and a bit", 2001, 2 },
        { "1024 us", 1024000, 10 },
        { "1024 us and a bit", 1024001, 11 },
        { "67.108864 s", UINT64_C(67108864000), 26 },
        { "longer than the last bound", UINT64_C(67108864001), 27 },
        { "as long as can be", UINT64_MAX, 27 },
    };
    return cr_make_param_array(struct bucket_case, rows, ARRAY_SIZE(rows));
}

ParameterizedTest(struct bucket_case *row, tally, bucket)
{
    cr_expect_eq(tally_bucket(row->ns), row->bucket, "%s", row->why);
}

#define MAX_TIMES 300

static int compare(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* The bucket whose bounds a time lies between, found by looking at each. */
static uint32_t oracle_bucket(uint64_t ns)
{
    uint32_t i = 0;

    while (i + 1 < TALLY_BUCKETS && (double) ns / 1e9 > tally_bound(i) * (1 + 1e-12))
        i++;
    return i;
}

/* Times of all sizes, many of them at the bounds of buckets. */
static uint64_t random_time(struct rng *rng)
{
    uint64_t bound = UINT64_C(1000) << rng_below(rng, TALLY_BUCKETS + 1);

    switch (rng_below(rng, 4)) {
    case 0:
        return bound;
    case 1:
        return bound + 1;
    case 2:
        return bound - 1;
    default:
        return rng_below(rng, bound);
    }
}

/* The time that a share of all took no longer than lies between the same bounds as what the tally says. */
static void check_percentile(const struct tally_view *view, const uint64_t sorted[], uint32_t n, double share)
{
    uint32_t rank = (uint32_t) MAX(ceil(share * n), 1), bucket = oracle_bucket(sorted[rank - 1]);
    double said = tally_percentile(view, share), last = tally_bound(TALLY_BUCKETS - 2);

    if (bucket + 1 == TALLY_BUCKETS)
        cr_assert_eq(said, last, "of those beyond the last bound: that bound");
    else
        cr_assert(said <= tally_bound(bucket) * (1 + 1e-9) &&
                      said >= (bucket > 0 ? tally_bound(bucket - 1) : 0) * (1 - 1e-9),
                  "%g of %u: %g s, but it is %" PRIu64 " ns", share, n, said, sorted[rank - 1]);
}

Test(tally, says_what_the_oracle_says)
{
    for (struct rng rng = rng_from_env(2000); rng_next(&rng);) {
        static const double share[] = { 0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 1 };
        uint32_t n = 1 + (uint32_t) rng_below(&rng, MAX_TIMES);
        uint64_t time[MAX_TIMES], sum = 0, bytes = 0, errors = 0, want[TALLY_BUCKETS] = { 0 };
        struct tally tally = { 0 };
        struct tally_view view;

        for (uint32_t i = 0; i < n; i++) {
            uint64_t moved = rng_below(&rng, 3) * 4096;

            time[i] = random_time(&rng);
            sum += time[i];
            bytes += moved;
            want[oracle_bucket(time[i])]++;
            tally_note(&tally, time[i], moved);
            if (rng_below(&rng, 8) == 0) {
                errors++;
                tally_note_error(&tally);
            }
        }
        view = tally_look(&tally);
        cr_assert_eq(view.n, n);
        cr_assert_eq(view.ns, sum);
        cr_assert_eq(view.bytes, bytes);
        cr_assert_eq(view.errors, errors);
        cr_assert_arr_eq(view.bucket, want, sizeof want);
        qsort(time, n, sizeof time[0], compare);
        for (size_t i = 0; i < ARRAY_SIZE(share); i++)
            check_percentile(&view, time, n, share[i]);
    }
}

Test(tally, of_nothing)
{
    struct tally tally = { 0 };
    struct tally_view view = tally_look(&tally);

    cr_expect_eq(view.n, 0);
    cr_expect_eq(tally_percentile(&view, 0.99), 0);
}

Test(tally, lies_evenly_between_the_bounds_of_a_bucket)
{
    struct tally_view view = { .bucket[4] = 4, .n = 4 }; /* 8 to 16 us */

    cr_expect_float_eq(tally_percentile(&view, 0.5), 12e-6, 1e-12);
    cr_expect_float_eq(tally_percentile(&view, 1), 16e-6, 1e-12);
    cr_expect(isinf(tally_bound(TALLY_BUCKETS - 1)), "the last bucket has no bound");
}

Test(tally, what_came_between_two_looks)
{
    struct tally_view before = { .bucket[2] = 3, .n = 3, .ns = 9000, .bytes = 100, .errors = 1 };
    struct tally_view now = { .bucket[2] = 5, .bucket[3] = 1, .n = 6, .ns = 20000, .bytes = 140, .errors = 1 };
    struct tally_view since = tally_since(&before, &now);

    cr_expect_eq(since.n, 3);
    cr_expect_eq(since.bucket[2], 2);
    cr_expect_eq(since.bucket[3], 1);
    cr_expect_eq(since.ns, 11000);
    cr_expect_eq(since.bytes, 40);
    cr_expect_eq(since.errors, 0);
    since = tally_since(&now, &before);
    cr_expect_eq(since.n, before.n, "who began anew counts from nothing");
    cr_expect_eq(since.ns, before.ns);
}

#define THREADS 4
#define EACH    100000

static struct tally shared;

static void *count(void *arg)
{
    uint64_t ns = 700 * (1 + (uintptr_t) arg);

    for (int i = 0; i < EACH; i++)
        tally_note(&shared, ns, 10);
    return NULL;
}

/* Numbers never go back while others count, and none is lost. */
Test(tally, many_count_at_once)
{
    pthread_t thread[THREADS];
    struct tally_view last = { .n = 0 };

    for (uintptr_t i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&thread[i], NULL, count, (void *) i), 0); // NOLINT(performance-no-int-to-ptr)
    while (last.n < THREADS * EACH) {
        struct tally_view view = tally_look(&shared);

        cr_assert_geq(view.n, last.n);
        cr_assert_geq(view.bytes, last.bytes);
        last = view;
    }
    for (int i = 0; i < THREADS; i++)
        (void) pthread_join(thread[i], NULL);
    last = tally_look(&shared);
    cr_expect_eq(last.n, THREADS * EACH);
    cr_expect_eq(last.bytes, THREADS * EACH * 10);
    cr_expect_eq(last.ns, UINT64_C(700) * EACH * (1 + 2 + 3 + 4));
}
