/* SPDX-License-Identifier: MIT */
/* Every constructor, with every one of its allocations failing, once and from there on: -ENOMEM, nothing leaked, the
 * result untouched, and right the next time. Leaks are found by the sanitizer build. */
#include "layout/layout.h"
#include "layout/match.h"
#include "layout/section.h"
#include "test/support/failmalloc.h"
#include "test/support/texts.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <string.h>

/* Makes a thing and frees it again; says what the constructor returned. */
typedef int constructor(const void *argument);

static void survives(constructor *attempt, const void *argument, const char *what)
{
    for (int persistent = 0; persistent < 2; persistent++) {
        unsigned n = 1;

        for (;; n++) {
            int r;

            failmalloc_arm(n, persistent);
            r = attempt(argument);
            if (!failmalloc_disarm()) {
                cr_expect_eq(r, 0, "%s: %d with no allocation failing", what, r);
                break;
            }
            cr_assert_eq(r, -ENOMEM, "%s: %d with allocation %u failing", what, r, n);
        }
        cr_expect_gt(n, 1, "%s allocates nothing: this tests nothing", what);
    }
}

struct text_case {
    char text[120];
};

ParameterizedTestParameters(malloc, layouts)
{
    static struct text_case rows[] = {
        { "one" },
        { "stripe(1M,4) disp 512 on d0,d1,d2-d9" },
        { "stripe(1M) on d0-d3 copies 2" },
        { "stripe(1,1000)" },
        { "var(1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20)" },
        { "twod(64K,2,4) on d0-d4" },
        { "array(shape=9x9x9, elem=3, dist=(cyclic(2),block,cyclic), grid=2x3x2)" },
        { "{d1:(0,0,2,64),(1,1,4,32);(3,3,4,32)}" },
        { "{(0,7,16,2,{(0,1,4,2)});(2,7,16,2,{(0,1,4,2)});(8,15,16,2);()}" },
    };

    return cr_make_param_array(struct text_case, rows, ARRAY_SIZE(rows));
}

static int try_layout(const void *text)
{
    cleanup(layout_freep) struct layout *layout = NULL;
    struct layout_error error;
    int r = layout_parse(text, strlen(text), 0, &layout, &error);

    cr_assert_eq(r == 0, layout != NULL);
    return r;
}

ParameterizedTest(struct text_case *row, malloc, layouts)
{
    survives(try_layout, row->text, row->text);
}

/* Out of memory must not turn a wrong layout into another error, or into a right one. */
static int try_overlapping(const void *text)
{
    cleanup(layout_freep) struct layout *layout = NULL;
    struct layout_error error;
    int r = layout_parse(text, strlen(text), 0, &layout, &error);

    return r == -ERANGE ? 0 : r == 0 ? -EIO : r;
}

Test(malloc, a_faulty_pattern)
{
    static const char text[] = "{(0,0,2,64),(1,1,4,32);(3,3,4,32),(12,12,1,1)}";

    survives(try_overlapping, text, text);
}

static int try_nest(const void *text)
{
    cleanup(nest_freep) struct nest *nest = NULL;
    struct layout_error error;

    return nest_parse(text, strlen(text), &nest, &error);
}

static int try_cut(const void *nest)
{
    cleanup(nest_freep) struct nest *cut = NULL;

    return nest_cut(nest, 1, 40, &cut);
}

static int try_section(const void *unused)
{
    struct array array = { 3, ARRAY_ROW_MAJOR, 4, 0, { 8, 8, 8 } };
    struct range section[] = { { 0, 7, 2 }, { 1, 5, 3 }, { 0, 6, 2 } };
    cleanup(nest_freep) struct nest *nest = NULL;

    (void) unused;
    return section_new(&array, section, &nest);
}

Test(malloc, sets)
{
    static const char text[] = "{(0,15,16,8,{(0,0,2,4),(1,1,4,2),(9,11,6,1)})}";
    cleanup(nest_freep) struct nest *nest = nest_of(text);

    survives(try_nest, text, "nest_parse");
    survives(try_cut, nest, "nest_cut");
    survives(try_section, NULL, "section_new");
}

static int try_overlap(const void *layouts)
{
    struct layout *const *pair = layouts;
    cleanup(overlap_done) struct overlap overlap = { 0 };

    return overlap_of_elements(pair[0]->pattern, 0, pair[1]->pattern, 1, &overlap);
}

/* Strides are coprime: blocks that meet are found in the way that allocates a list of them. */
static int try_coprime(const void *nests)
{
    struct nest *const *pair = nests;
    cleanup(overlap_done) struct overlap overlap = { 0 };

    return overlap_of_nests(pair[0], pair[1], 0, UINT64_C(1009) * 1013, &overlap);
}

static int try_match(const void *layouts)
{
    struct layout *const *pair = layouts;
    cleanup(match_freep) struct match *match = NULL;

    return match_new(pair[0]->pattern, pair[1]->pattern, &match);
}

Test(malloc, pairs)
{
    struct layout *pair[] = { layout_of("array(shape=30x30, dist=(cyclic(2),block), grid=3x2)"),
                              layout_of("stripe(7,11)") };
    struct nest *coprime[] = { nest_of("{(0,0,1009,1013)}"), nest_of("{(5,5,1013,1009)}") };

    survives(try_overlap, pair, "overlap_of_elements");
    survives(try_match, pair, "match_new");
    survives(try_coprime, coprime, "overlap_of_nests");
    nest_free(coprime[0]);
    nest_free(coprime[1]);
    layout_free(pair[0]);
    layout_free(pair[1]);
}
