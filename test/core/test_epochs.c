/* SPDX-License-Identifier: MIT */
/* Which epochs did not end well: as sets of numbers, and as text. */
#include "fs/core/volume/epochs.h"

#include "test/support/rng.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <string.h>

#define SPAN 200

static char *print(const struct epochs *epochs)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    epochs_print(epochs, out);
    fclose(out);
    return text;
}

struct text_case {
    char text[64];
    int want;
};

ParameterizedTestParameters(epochs, text)
{
    static struct text_case rows[] = {
        { "", 0 },
        { "1", 0 },
        { "1-2", 0 },
        { "3-3", -EINVAL },
        { "1-3,5,7-9", 0 },
        { "18446744073709551614", 0 },
        { "18446744073709551615", -EINVAL },
        { "99999999999999999999", -EINVAL },
        { "0", -EINVAL },
        { "01", -EINVAL },
        { "5-3", -EINVAL },
        { "3,1", -EINVAL },
        { "1,2", -EINVAL }, /* is 1-2 */
        { "1-3,3", -EINVAL },
        { "1,", -EINVAL },
        { ",1", -EINVAL },
        { "1-", -EINVAL },
        { "1 ,3", -EINVAL },
        { "+1", -EINVAL },
    };

    return cr_make_param_array(struct text_case, rows, ARRAY_SIZE(rows));
}

ParameterizedTest(struct text_case *row, epochs, text)
{
    cleanup(epochs_done) struct epochs epochs = { 0 };
    cleanup(freep) char *again = NULL;
    int r = epochs_parse(row->text, &epochs);

    cr_assert_eq(r, row->want, "'%s': %d", row->text, r);
    if (r < 0)
        return;
    again = print(&epochs);
    cr_expect_str_eq(again, row->text);
}

Test(epochs, are_those_that_were_added)
{
    for (struct rng rng = rng_from_env(500); rng_next(&rng);) {
        cleanup(epochs_done) struct epochs epochs = { 0 }, read = { 0 };
        cleanup(freep) char *text = NULL;
        bool has[SPAN] = { false };
        unsigned percent = (unsigned) rng_below(&rng, 101);
        uint64_t last = 0;

        for (uint64_t epoch = 1; epoch < SPAN; epoch++)
            if (rng_chance(&rng, percent)) {
                cr_assert_eq(epochs_add(&epochs, epoch), 0);
                has[last = epoch] = true;
            }
        text = print(&epochs);
        cr_assert_eq(epochs_parse(text, &read), 0, RNG_SEED ": '%s'", rng.seed, text);
        for (uint64_t epoch = 0; epoch < SPAN; epoch++)
            cr_assert(epochs_has(&epochs, epoch) == has[epoch] && epochs_has(&read, epoch) == has[epoch],
                      RNG_SEED ": %" PRIu64 " in '%s'", rng.seed, epoch, text);
        cr_assert_eq(epochs_last(&epochs), last);
    }
}

/* Where there are too many ranges, no epoch that was added is forgotten: ranges near each other are joined, and what
 * lies between them counts as added. */
Test(epochs, that_are_too_many)
{
    cleanup(epochs_done) struct epochs epochs = { 0 };
    uint64_t last = UINT64_C(4) * EPOCHS_MAX_RANGES;

    for (uint64_t epoch = 1; epoch <= last; epoch += epoch == 801 ? 2 : 4)
        cr_assert_eq(epochs_add(&epochs, epoch), 0);
    cr_expect_leq(epochs.n, (uint32_t) EPOCHS_MAX_RANGES);
    for (uint64_t epoch = 1; epoch <= last; epoch += epoch == 801 ? 2 : 4)
        cr_assert(epochs_has(&epochs, epoch), "%" PRIu64, epoch);
    cr_expect(epochs_has(&epochs, 802), "what lies between the two nearest");
    cr_expect(!epochs_has(&epochs, last - 10));
}
