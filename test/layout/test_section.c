/* SPDX-License-Identifier: MIT */
/* Array sections against a walk over every element of the array. */
#include "layout/section.h"
#include "test/support/rng.h"
#include "test/support/texts.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

struct section_case {
    char why[48];
    struct array array;
    struct range section[3];
    char want[48];
};

ParameterizedTestParameters(section, examples)
{
    static struct section_case rows[] = {
        { "rows 0:2:2, columns 1:3:2",
          { 2, ARRAY_ROW_MAJOR, 1, 0, { 3, 4 } },
          { { 0, 2, 2 }, { 1, 3, 2 } },
          "{(1,3,8,2,{(0,0,2,2)})}" },
        { "all of it is one segment",
          { 2, ARRAY_ROW_MAJOR, 4, 0, { 3, 4 } },
          { { 0, 2, 1 }, { 0, 3, 1 } },
          "{(0,47,48,1)}" },
        { "whole rows are one segment",
          { 2, ARRAY_ROW_MAJOR, 4, 0, { 3, 4 } },
          { { 1, 2, 1 }, { 0, 3, 1 } },
          "{(16,47,32,1)}" },
        { "a column of a row-major array",
          { 2, ARRAY_ROW_MAJOR, 4, 0, { 3, 4 } },
          { { 0, 2, 1 }, { 2, 2, 1 } },
          "{(8,11,16,3)}" },
        { "a column of a column-major array",
          { 2, ARRAY_COLUMN_MAJOR, 4, 0, { 3, 4 } },
          { { 0, 2, 1 }, { 2, 2, 1 } },
          "{(24,35,12,1)}" },
        { "behind a header", { 1, ARRAY_ROW_MAJOR, 8, 512, { 10 } }, { { 2, 8, 3 } }, "{(528,535,24,3)}" },
        { "one element", { 1, ARRAY_ROW_MAJOR, 8, 0, { 10 } }, { { 9, 9, 100 } }, "{(72,79,8,1)}" },
        { "lower above upper is empty", { 2, ARRAY_ROW_MAJOR, 1, 0, { 3, 4 } }, { { 0, 2, 1 }, { 3, 2, 1 } }, "{}" },
        { "empty, its bounds anywhere", { 2, ARRAY_ROW_MAJOR, 1, 0, { 3, 4 } }, { { 9, 1, 1 }, { 0, 9, 1 } }, "{}" },
    };

    return cr_make_param_array(struct section_case, rows, ARRAY_SIZE(rows));
}

ParameterizedTest(struct section_case *row, section, examples)
{
    cleanup(nest_freep) struct nest *nest = NULL;

    cr_assert_eq(section_new(&row->array, row->section, &nest), 0, "%s", row->why);
    cr_expect_str_eq(text_of_nest(nest).s, row->want, "%s: %s", row->why, text_of_nest(nest).s);
}

Test(section, what_is_refused)
{
    struct array array = { 2, ARRAY_ROW_MAJOR, 1, 0, { 3, 4 } };
    struct range good[] = { { 0, 2, 1 }, { 0, 3, 1 } }, outside[] = { { 0, 2, 1 }, { 0, 4, 1 } },
                 no_stride[] = { { 0, 2, 0 }, { 0, 3, 1 } };
    struct nest *nest = NULL;

    cr_expect_eq(section_new(&array, outside, &nest), -ERANGE);
    cr_expect_eq(section_new(&array, no_stride, &nest), -EINVAL);
    array.elem = 0;
    cr_expect_eq(section_new(&array, good, &nest), -EINVAL);
    array.elem = FALLS_LIMIT;
    cr_expect_eq(section_new(&array, good, &nest), -EOVERFLOW);
    array.elem = 1;
    array.header = FALLS_LIMIT;
    cr_expect_eq(section_new(&array, good, &nest), -EOVERFLOW);
    array.header = 0;
    array.ndims = 0;
    cr_expect_eq(section_new(&array, good, &nest), -EINVAL);
    array.ndims = ARRAY_MAX_DIMS + 1;
    cr_expect_eq(section_new(&array, good, &nest), -EINVAL);
    array.ndims = 2;
    array.size[1] = UINT64_MAX;
    cr_expect_eq(section_new(&array, good, &nest), -EOVERFLOW);
    cr_expect_null(nest);
}

/* A section of a terabyte array is as cheap as any: the answer is one nested FALLS. */
Test(section, a_huge_array_costs_nothing)
{
    struct array array = { 3, ARRAY_COLUMN_MAJOR, 4, 4096, { 1 << 20, 1 << 19, 3 } };
    struct range section[] = { { 0, (1 << 20) - 1, 2 }, { 1, (1 << 19) - 2, 3 }, { 0, 2, 2 } };
    cleanup(nest_freep) struct nest *nest = NULL;

    cr_assert_eq(section_new(&array, section, &nest), 0);
    cr_expect_leq(nest->n_nodes, 3);
    cr_expect_eq(nest->size, (UINT64_C(1) << 19) * 174762 * 2 * 4);
    cr_expect_eq(nest_select(nest, 0), 4096 + 4 * (UINT64_C(1) << 20));
}

static bool in_section(const struct array *array, const struct range section[], uint64_t cell)
{
    for (uint32_t pace = 0; pace < array->ndims; pace++) {
        uint32_t dim = array_dim(array, pace);
        uint64_t index = cell % array->size[dim];

        cell /= array->size[dim];
        if (index < section[dim].lower || index > section[dim].upper ||
            (index - section[dim].lower) % section[dim].stride != 0)
            return false;
    }
    return true;
}

Test(section, agrees_with_every_element_of_random_arrays)
{
    for (struct rng rng = rng_from_env(5000); rng_next(&rng);) {
        uint32_t ndims = (uint32_t) (rng_chance(&rng, 80) ? rng_between(&rng, 1, 4) : rng_between(&rng, 5, 16));
        struct array array = { .ndims = ndims,
                               .order = (enum array_order) rng_below(&rng, 2),
                               .elem = rng_between(&rng, 1, 9),
                               .header = rng_below(&rng, 50) };
        struct range section[ARRAY_MAX_DIMS];
        cleanup(nest_freep) struct nest *nest = NULL;
        uint64_t cells = 1, n = 0;

        for (uint32_t i = 0; i < ndims; i++) {
            array.size[i] = rng_between(&rng, 1, ndims > 8 ? 2 : ndims > 4 ? 3 : 9);
            cells *= array.size[i];
            section[i].lower = rng_below(&rng, array.size[i]);
            section[i].upper = rng_chance(&rng, 97) ? rng_between(&rng, section[i].lower, array.size[i] - 1)
                                                    : section[i].lower - (section[i].lower > 0);
            section[i].stride = rng_between(&rng, 1, 4);
        }
        cr_assert_eq(section_new(&array, section, &nest), 0, RNG_SEED, rng.seed);
        for (uint64_t cell = 0; cell < cells; cell++) {
            if (!in_section(&array, section, cell))
                continue;
            for (uint64_t byte = 0; byte < array.elem; byte++, n++)
                cr_assert(n < nest->size && nest_select(nest, n) == array.header + cell * array.elem + byte,
                          RNG_SEED ": byte %" PRIu64 " of %s", rng.seed, n, text_of_nest(nest).s);
        }
        cr_assert_eq(n, nest->size, RNG_SEED ": %s", rng.seed, text_of_nest(nest).s);
        cr_assert_leq(nest->n_nodes, 2 * ndims, RNG_SEED, rng.seed);
    }
}
