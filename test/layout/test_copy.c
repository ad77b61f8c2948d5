/* SPDX-License-Identifier: MIT */
/* The copying loops of every instruction set this processor has, against one byte at a time. */
#include "layout/copy.h"
#include "test/support/rng.h"

#include <criterion/criterion.h>
#include <string.h>

#define GUARD 64

static void check_loops(const struct copy_loops *loops, struct rng *rng, size_t len, size_t stride, size_t n)
{
    size_t misaligned = rng_below(rng, 16), span = n > 0 ? (n - 1) * stride + len : 0;
    unsigned char *spread = malloc(span + 2 * GUARD), *packed = malloc(n * len + 2 * GUARD);
    unsigned char *from = spread + misaligned, *to = packed + rng_below(rng, 16);

    for (size_t i = 0; i < span; i++)
        from[i] = (unsigned char) rng_u64(rng);
    memset(packed, 0xaa, n * len + 2 * GUARD);
    loops->gather(to, from, len, stride, n);
    for (size_t i = 0; i < n * len; i++)
        cr_assert_eq(to[i], from[i / len * stride + i % len],
                     "%s " RNG_SEED ": gather len %zu stride %zu n %zu byte %zu", loops->name, rng->seed, len, stride,
                     n, i);
    cr_assert_eq(to[n * len], 0xaa, "%s: gather wrote past its end", loops->name);
    memset(spread, 0x55, span + 2 * GUARD);
    loops->scatter(from, to, len, stride, n);
    for (size_t i = 0; i < span + GUARD / 2; i++) {
        bool member = i < span && i % stride < len;

        cr_assert_eq(from[i], member ? to[i / stride * len + i % stride] : 0x55,
                     "%s " RNG_SEED ": scatter len %zu stride %zu n %zu byte %zu", loops->name, rng->seed, len, stride,
                     n, i);
    }
    free(spread);
    free(packed);
}

Test(copy, every_loop_moves_the_right_bytes)
{
    const struct copy_loops *loops;

    for (unsigned set = 0; (loops = copy_loops_usable(set)) != NULL; set++) {
        struct rng rng = rng_from_seed(set);

        for (size_t len = 1; len <= 8; len *= 2)
            for (size_t step = 1; step <= 18; step++)
                for (size_t n = 0; n <= 70; n += 1 + n / 8)
                    check_loops(loops, &rng, len, len * step, n);
        for (rng = rng_from_env(3000); rng_next(&rng);) {
            size_t len = rng_between(&rng, 1, rng_chance(&rng, 70) ? 40 : 400);

            check_loops(loops, &rng, len, len + rng_below(&rng, 100), rng_below(&rng, 40));
        }
    }
    cr_expect_geq(copy_loops_best()->name[0], 'a');
}
