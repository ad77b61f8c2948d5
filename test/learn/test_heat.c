/* SPDX-License-Identifier: MIT */
/* Maps of where bytes are moved, beside counting every byte. */
#include "fs/learn/heat.h"
#include "test/learn/learned.h"
#include "test/support/oracle.h"
#include "test/support/texts.h"

#include <criterion/criterion.h>

/* Where a byte belongs on a map: what it is that rows and columns count; false: nowhere. */
struct spot {
    uint64_t row, col;
};

typedef bool find_spot(const void *ctx, const struct touch *touch, uint64_t byte, struct spot *ret_spot);

static void check(const struct heat *heat, const struct touches *touches, find_spot *find, const void *ctx,
                  const char *what, uint64_t seed)
{
    size_t n = (size_t) heat->rows * heat->cols;
    cleanup(freep) uint64_t *read = calloc(n, sizeof *read), *written = calloc(n, sizeof *written);

    for (size_t i = 0; i < touches->n; i++)
        for (uint64_t byte = touches->touch[i].off; byte < touches->touch[i].end; byte++) {
            struct spot spot;

            if (!find(ctx, &touches->touch[i], byte, &spot))
                continue;
            cr_assert(spot.row / heat->row_step < heat->rows && spot.col / heat->col_step < heat->cols);
            (touches->touch[i].writes ? written
                                      : read)[spot.row / heat->row_step * heat->cols + spot.col / heat->col_step]++;
        }
    for (size_t i = 0; i < n; i++)
        cr_assert(heat->read[i] == read[i] && heat->written[i] == written[i],
                  RNG_SEED ": %s: cell %zu of %" PRIu32 " x %" PRIu32 ": %" PRIu64 " read, counted %" PRIu64, seed,
                  what, i, heat->rows, heat->cols, heat->read[i], read[i]);
    cr_assert(heat->rows <= HEAT_ROWS && heat->cols <= HEAT_COLS && heat->rows > 0 && heat->cols > 0);
}

static bool spot_of_time(const void *ctx, const struct touch *touch, uint64_t byte, struct spot *ret_spot)
{
    *ret_spot = (struct spot){ byte, touch->at - ((const struct touches *) ctx)->touch[0].at };
    return true;
}

static bool spot_of_rank(const void *ctx, const struct touch *touch, uint64_t byte, struct spot *ret_spot)
{
    (void) ctx;
    *ret_spot = (struct spot){ byte, touch->rank };
    return true;
}

struct disks {
    const struct touches *touches;
    const struct oracle *oracle;
    uint32_t n;
};

static bool spot_of_disk(const void *ctx, const struct touch *touch, uint64_t byte, struct spot *ret_spot)
{
    const struct disks *disks = ctx;
    uint32_t element = oracle_map(disks->oracle, byte).element;

    *ret_spot =
        (struct spot){ element == ELEMENT_HEADER ? 0 : element % disks->n, touch->at - disks->touches->touch[0].at };
    return true;
}

static bool spot_of_element(const void *ctx, const struct touch *touch, uint64_t byte, struct spot *ret_spot)
{
    const struct array *array = ctx;
    uint64_t element = (byte - array->header) / array->elem, index[ARRAY_MAX_DIMS];

    (void) touch;
    for (uint32_t pace = 0; pace < array->ndims; pace++) {
        index[array_dim(array, pace)] = element % array->size[array_dim(array, pace)];
        element /= array->size[array_dim(array, pace)];
    }
    *ret_spot = array->order == ARRAY_ROW_MAJOR ? (struct spot){ index[array->ndims - 2], index[array->ndims - 1] }
                                                : (struct spot){ index[0], index[1] };
    return byte >= array->header;
}

static struct array random_array(struct rng *rng)
{
    struct array array = { .ndims = (uint32_t) rng_between(rng, 2, 3),
                           .order = rng_chance(rng, 50) ? ARRAY_ROW_MAJOR : ARRAY_COLUMN_MAJOR,
                           .elem = rng_between(rng, 1, 8),
                           .header = rng_below(rng, 20) };

    for (uint32_t i = 0; i < array.ndims; i++)
        array.size[i] = rng_between(rng, 1, 200);
    return array;
}

Test(heat, counts_every_byte_where_it_is)
{
    static struct oracle oracle;
    static struct learned learned;

    for (struct rng rng = rng_from_env(2000); rng_next(&rng);) {
        struct array array = random_array(&rng);
        cleanup(layout_freep) struct layout *layout = NULL;
        struct disks disks = { .oracle = &oracle, .n = 1 + (uint32_t) rng_below(&rng, 5) };
        struct touches touches;
        struct heat heat;

        learned_random(&learned, &rng);
        oracle_random(&oracle, &rng);
        layout = layout_of(oracle.text);
        cr_assert_eq(touches_init(&touches, &learned.trace, 0, NULL), 0);
        disks.touches = &touches;
        cr_assert_eq(heat_of_times(&heat, &touches, rng_below(&rng, 1000)), 0);
        check(&heat, &touches, spot_of_time, &touches, "times", rng.seed);
        heat_done(&heat);
        cr_assert_eq(heat_of_ranks(&heat, &touches, rng_below(&rng, 1000)), 0);
        check(&heat, &touches, spot_of_rank, NULL, "ranks", rng.seed);
        heat_done(&heat);
        cr_assert_eq(heat_of_disks(&heat, &touches, layout->pattern, disks.n), 0);
        check(&heat, &touches, spot_of_disk, &disks, "disks", rng.seed);
        heat_done(&heat);
        cr_assert_eq(heat_of_array(&heat, &touches, &array), 0);
        check(&heat, &touches, spot_of_element, &array, "array", rng.seed);
        heat_done(&heat);
        touches_done(&touches);
    }
}

/* Times that are as far apart as can be, of a file that is as long as can be. */
Test(heat, goes_to_the_ends)
{
    struct touch touch[] = { { .off = 0, .end = 1 }, { .off = FALLS_LIMIT - 1, .end = FALLS_LIMIT, .at = UINT64_MAX } };
    struct touches touches = { .touch = touch, .n = 2, .n_ranks = 1, .end = FALLS_LIMIT };
    const struct array line = { .ndims = 1, .elem = 1, .size = { 10 } };
    struct heat heat;

    cr_assert_eq(heat_of_times(&heat, &touches, FALLS_LIMIT), 0);
    cr_expect(heat.read[0] == 1 && heat.read[heat.rows * heat.cols - 1] == 1);
    heat_done(&heat);
    cr_expect_eq(heat_of_array(&heat, &touches, &line), -EINVAL);
}
