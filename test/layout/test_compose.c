/* SPDX-License-Identifier: MIT */
/* Sets of a set's bytes, against selecting from one and the other. */
#include "layout/compose.h"
#include "layout/section.h"
#include "test/support/oracle.h"

#include <criterion/criterion.h>
#include <string.h>

struct compose_case {
    const char *outer, *inner, *want;
};

static void parse(const char *text, struct nest **ret_nest)
{
    struct layout_error error;

    cr_assert(nest_parse(text, strlen(text), ret_nest, &error) == 0, "%s: %s", text, error.why);
}

static void print(const struct nest *nest, char text[static 500])
{
    FILE *out = fmemopen(text, 500, "w");

    nest_print(out, nest);
    fclose(out);
}

Test(compose, what_is_regular_stays_so)
{
    static const struct compose_case cases[] = {
        { "{(2,3,6,3)}", "{(1,1,2,3)}", "{(3,3,6,3)}" },
        { "{(2,3,6,3)}", "{(0,5,6,1)}", "{(2,3,6,3)}" },
        { "{(2,3,6,3)}", "{}", "{}" },
        /* every second row of a block of columns */
        { "{(8,15,16,1000000)}", "{(0,7,16,500000)}", "{(8,15,32,500000)}" },
        /* a column of a view whose rows are 3 long */
        { "{(0,2,10,999999)}", "{(1,1,3,999999)}", "{(1,1,10,999999)}" },
        /* every second byte, three to a block: the pattern comes again after two blocks */
        { "{(0,2,10,1000000)}", "{(0,0,2,1500000)}", "{(0,11,20,500000,{(0,0,2,2),(11,11,1,1)})}" },
        /* whole blocks within, pieces at both ends */
        { "{(0,3,10,1000)}", "{(2,3997,3996,1)}", "{(2,3,2,1),(10,13,10,998),(9990,9991,2,1)}" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        cleanup(nest_freep) struct nest *outer = NULL, *inner = NULL, *composed = NULL;
        char text[500];

        parse(cases[i].outer, &outer);
        parse(cases[i].inner, &inner);
        cr_assert(nest_compose(outer, inner, &composed) == 0, "case %zu", i);
        print(composed, text);
        cr_expect_str_eq(text, cases[i].want, "case %zu: %s", i, text);
    }
}

Test(compose, no_more_than_there_is)
{
    cleanup(nest_freep) struct nest *outer = NULL, *inner = NULL;
    struct nest *composed = NULL;

    parse("{(2,3,6,3)}", &outer);
    parse("{(6,6,1,1)}", &inner);
    cr_assert(nest_compose(outer, inner, &composed) == -ERANGE && composed == NULL);
}

static void compare(const struct rng *rng, const struct nest *outer, const struct nest *inner,
                    const struct nest *composed)
{
    cr_assert(composed->size == inner->size, RNG_SEED ": %" PRIu64 " bytes instead of %" PRIu64, rng->seed,
              composed->size, inner->size);
    for (uint64_t k = 0; k < inner->size; k++) {
        uint64_t want = nest_select(outer, nest_select(inner, k)), found = nest_select(composed, k);

        cr_assert(found == want && nest_rank(composed, found) == k && nest_rank(composed, found + 1) == k + 1,
                  RNG_SEED ": byte %" PRIu64 " is at %" PRIu64 " instead of %" PRIu64, rng->seed, k, found, want);
    }
}

static void random_falls(struct rng *rng, struct nest **ret_nest)
{
    uint64_t piece = rng_between(rng, 1, 9), step = piece + rng_below(rng, 9), m = rng_between(rng, 1, 6);
    uint64_t len = (m - 1) * step + piece, stride = len + rng_below(rng, 100), n = rng_between(rng, 1, 60);
    char text[200];

    snprintf(text, sizeof text, "{(0,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",{(0,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ")})}",
             len - 1, stride, n, piece - 1, step, m);
    parse(text, ret_nest);
}

static void random_section(struct rng *rng, struct nest **ret_nest)
{
    struct array array = { .ndims = (uint32_t) rng_between(rng, 1, 3), .elem = rng_between(rng, 1, 8) };
    struct range range[3];

    for (uint32_t i = 0; i < array.ndims; i++) {
        array.size[i] = rng_between(rng, 1, 12);
        range[i].lower = rng_below(rng, array.size[i]);
        range[i].upper = rng_between(rng, range[i].lower, array.size[i] - 1);
        range[i].stride = rng_between(rng, 1, 4);
    }
    cr_assert(section_new(&array, range, ret_nest) == 0);
}

/* Some bytes of an element of another random pattern. */
static void random_element(struct rng *rng, struct nest **ret_nest)
{
    static struct oracle oracle;
    cleanup(layout_freep) struct layout *layout = NULL;
    struct layout_error error;
    uint64_t lo;

    oracle_random(&oracle, rng);
    lo = rng_below(rng, oracle.disp + 1);
    cr_assert(layout_parse(oracle.text, strlen(oracle.text), 0, &layout, &error) == 0);
    cr_assert(nest_cut(layout->pattern->element[rng_below(rng, oracle.n_elements)].file, lo,
                       lo + rng_between(rng, 1, 3 * oracle.size), ret_nest) == 0);
}

Test(compose, selects_what_both_select, .timeout = 600)
{
    static void (*const makers[])(struct rng *, struct nest **) = { random_falls, random_section, random_element };
    static struct oracle oracle;
    uint64_t n = 0, n_irregular = 0;

    for (struct rng rng = rng_from_env(6000); rng_next(&rng); n++) {
        cleanup(layout_freep) struct layout *layout = NULL;
        cleanup(nest_freep) struct nest *inner = NULL, *composed = NULL;
        const struct nest *outer;
        struct layout_error error;
        int r;

        oracle_random(&oracle, &rng);
        cr_assert(layout_parse(oracle.text, strlen(oracle.text), 0, &layout, &error) == 0);
        outer = layout->pattern->element[rng_below(&rng, oracle.n_elements)].file;
        if (outer->size == 0)
            continue;
        makers[rng_below(&rng, ARRAY_SIZE(makers))](&rng, &inner);
        r = nest_compose(outer, inner, &composed);
        cr_assert(r == 0 || r == -E2BIG, RNG_SEED ": %d", rng.seed, r);
        n_irregular += r < 0;
        if (r == 0)
            compare(&rng, outer, inner, composed);
    }
    cr_assert(n_irregular <= n / 20, "%" PRIu64 " of %" PRIu64 " have no short description", n_irregular, n);
}
