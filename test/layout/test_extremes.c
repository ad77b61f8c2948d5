/* SPDX-License-Identifier: MIT */
/* Patterns that nobody could look at byte by byte: an answer at all shows that they are not. */
#include "layout/gather.h"
#include "layout/map.h"
#include "layout/overlap.h"
#include "test/support/texts.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#define P50 (UINT64_C(1) << 50)
#define P62 (UINT64_C(1) << 62)

Test(extremes, one_byte_units_over_two_to_the_fifty)
{
    /* all even bytes, all odd ones: 2^49 blocks each */
    cleanup(layout_freep) struct layout *layout =
        layout_of("{(0,0,2,562949953421312);(1,1,2,562949953421312)} disp 4096");
    struct place place;
    struct runs runs;
    struct run run;
    uint64_t off;

    cr_assert_eq(pattern_map(layout->pattern, P50 + 4097, &place), 0);
    cr_expect_eq(place.element, 1);
    cr_expect_eq(place.sub_off, P50 / 2);
    cr_assert_eq(pattern_unmap(layout->pattern, 0, P50, &off), 0);
    cr_expect_eq(off, 2 * P50 + 4096);
    cr_assert_eq(runs_init(&runs, layout->pattern, P62 - 3, 3), 0);
    for (uint64_t x = P62 - 3; x < P62; x++) {
        cr_assert(runs_next(&runs, &run));
        cr_expect_eq(run.file_off, x);
        cr_expect_eq(run.element, x % 2);
        cr_expect_eq(run.len, 1);
    }
    cr_expect_not(runs_next(&runs, &run));
}

struct edge_case {
    char text[112];
};

ParameterizedTestParameters(extremes, edges)
{
    static struct edge_case rows[] = {
        { "one" },
        { "one disp 4611686018427387903" },
        { "stripe(1,4096)" },
        { "stripe(1T,4096)" },
        { "stripe(1048576T,3)" },
        { "var(4611686018427387903,1)" },
        { "{(0,0,2,2305843009213693951);(1,1,2,2305843009213693951)}" },
        { "array(shape=1048576x1048576x1048576, elem=3, dist=(cyclic,block,cyclic(7)), grid=2x3x2) disp 77" },
        { "array(shape=2147483648x2147483647, dist=(cyclic(5),cyclic(3)), order=col, grid=3x4)" },
        { "twod(1G,3,1000000) on d0-d10" },
    };

    return cr_make_param_array(struct edge_case, rows, ARRAY_SIZE(rows));
}

/* At both ends of what an offset can be, and around every power of two between: there and back. */
ParameterizedTest(struct edge_case *row, extremes, edges)
{
    cleanup(layout_freep) struct layout *layout = layout_of(row->text);

    for (unsigned power = 0; power <= 62; power++)
        for (uint64_t x = (UINT64_C(1) << power) - 1; x <= (UINT64_C(1) << power) + 1 && x <= P62; x++) {
            struct place place;
            struct runs runs;
            struct run run;
            uint64_t back;

            cr_assert_eq(pattern_map(layout->pattern, x, &place), 0);
            cr_assert_eq(pattern_unmap(layout->pattern, place.element, place.sub_off, &back), 0, "%s: %" PRIu64,
                         row->text, x);
            cr_assert_eq(back, x, "%s: %" PRIu64 " came back as %" PRIu64, row->text, x, back);
            cr_assert_eq(runs_init(&runs, layout->pattern, x, P62 - x), 0);
            cr_assert_eq(runs_next(&runs, &run), x < P62);
            cr_assert(x == P62 || (run.element == place.element && run.sub_off == place.sub_off));
        }
}

Test(extremes, past_the_last_byte)
{
    cleanup(layout_freep) struct layout *layout = layout_of("stripe(4,2) disp 10");
    struct place place;
    struct runs runs;
    uint64_t off;

    cr_expect_eq(pattern_map(layout->pattern, P62 + 1, &place), -EOVERFLOW);
    cr_expect_eq(runs_init(&runs, layout->pattern, P62, 2), -EOVERFLOW);
    cr_expect_eq(runs_init(&runs, layout->pattern, 5, UINT64_MAX), -EOVERFLOW);
    cr_expect_eq(pattern_unmap(layout->pattern, 0, P62, &off), -EOVERFLOW);
    cr_expect_eq(pattern_unmap(layout->pattern, 2, 0, &off), -ENOENT);
    cr_expect_eq(pattern_unmap(layout->pattern, ELEMENT_HEADER, 10, &off), -ERANGE);
    cr_expect_eq(pattern_unmap(layout->pattern, ELEMENT_HEADER, UINT64_MAX, &off), -ERANGE);
    cr_expect_eq(pattern_unmap(layout->pattern, 0, UINT64_MAX, &off), -EOVERFLOW);
}

Test(extremes, an_element_without_bytes)
{
    cleanup(layout_freep) struct layout *layout = layout_of("array(shape=2,dist=(block),grid=3)");
    uint64_t off;

    cr_expect_eq(pattern_unmap(layout->pattern, 2, 0, &off), -ERANGE);
    cr_expect_not(nest_next(pattern_element(layout->pattern, 2), 0, &off));
}

Test(extremes, common_periods)
{
    cleanup(layout_freep) struct layout *a = layout_of("stripe(2147483647,2)");
    cleanup(layout_freep) struct layout *b = layout_of("stripe(2147483629,2)");
    cleanup(layout_freep) struct layout *c = layout_of("stripe(1T,4)");
    cleanup(layout_freep) struct layout *d = layout_of("stripe(1048573,1)");
    cleanup(overlap_done) struct overlap overlap = { 0 };

    cr_expect_eq(overlap_of_elements(a->pattern, 0, b->pattern, 0, &overlap), -EOVERFLOW, "lcm beyond 2^62");
    cr_expect_eq(overlap_of_elements(a->pattern, 2, b->pattern, 0, &overlap), -ENOENT);
    cr_assert_eq(overlap_of_elements(c->pattern, 1, d->pattern, 0, &overlap), 0);
    cr_expect_eq(overlap.size, (UINT64_C(1) << 40) * 1048573, "one element owns all: what is common is the other");
}

/* Blocks of coprime strides meet once a period: found by arithmetic, not by going there. */
Test(extremes, coprime_strides_meet_by_arithmetic)
{
    cleanup(nest_freep) struct nest *a = nest_of("{(0,0,1000003,999983)}");
    cleanup(nest_freep) struct nest *b = nest_of("{(12345,12345,999983,1000000)}");
    cleanup(overlap_done) struct overlap overlap = { 0 };
    uint64_t byte;

    cr_assert_eq(overlap_of_nests(a, b, 0, UINT64_C(1000003) * 999983, &overlap), 0);
    cr_assert_eq(overlap.size, 1);
    byte = nest_select(overlap.common, 0);
    cr_expect(byte % 1000003 == 0 && byte % 999983 == 12345);
}

Test(extremes, too_many_ways_to_meet_is_an_error)
{
    cleanup(layout_freep) struct layout *a = layout_of("stripe(1000003,2)");
    cleanup(layout_freep) struct layout *b = layout_of("stripe(999983,2)");
    cleanup(overlap_done) struct overlap overlap = { 0 };

    cr_expect_eq(overlap_of_elements(a->pattern, 0, b->pattern, 0, &overlap), -E2BIG);
}
