/* SPDX-License-Identifier: MIT */
/* Samples: how many of a row there are, and that no rhythm of a program is in step with them. */
#include "fs/daemon/trace/sample.h"
#include "test/support/rng.h"

#include <criterion/criterion.h>

Test(sample, has_one_of_each_row)
{
    for (struct rng rng = rng_from_env(1000); rng_next(&rng);) {
        uint64_t handle = rng_u64(&rng), first = UINT64_MAX;
        uint16_t n = (uint16_t) (1 + rng_below(&rng, 200));
        uint32_t rows = 0;

        /* rows begin n apart, somewhere: there is one of each, so two are less than 2 n apart */
        for (uint64_t i = 0, last = 0; i < UINT64_C(20) * n; i++) {
            if (!sample_has(handle, i, n))
                continue;
            if (first == UINT64_MAX)
                first = i;
            else
                cr_assert_lt(i - last, UINT64_C(2) * n, RNG_SEED ": %" PRIu64 " and %" PRIu64, rng.seed, last, i);
            last = i;
            rows++;
        }
        cr_assert(rows >= 19 && rows <= 21, RNG_SEED ": %" PRIu32 " of 20 rows of %u", rng.seed, rows, n);
        cr_assert_lt(first, UINT64_C(2) * n, RNG_SEED, rng.seed);
    }
}

/* Of files that are opened for one access each, every n-th is there, about; of a program that does n things in turn,
 * each of them is. */
Test(sample, is_of_everything_alike)
{
    const uint16_t n = 10;
    uint32_t opens = 0, thing[10] = { 0 };

    for (uint64_t handle = 1; handle <= 10000; handle++)
        opens += sample_has(handle, 0, n);
    cr_expect(opens > 900 && opens < 1100, "%" PRIu32 " of 10000", opens);
    for (uint64_t i = 0; i < 100000; i++)
        thing[i % n] += sample_has(1, i, n);
    for (size_t i = 0; i < n; i++)
        cr_expect(thing[i] > 800 && thing[i] < 1200, "thing %zu: %" PRIu32 " of 10000", i, thing[i]);
}
