/* SPDX-License-Identifier: MIT */
/* Folding keeps every byte and finds what is regular; patterns are named; sections are found again. */
#include "fs/learn/shape.h"
#include "layout/layout.h"
#include "test/learn/learned.h"
#include "test/support/texts.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#define MAX_SEGMENTS 200

/* Segments that repeat on some levels, with something else in between now and then. */
static size_t random_segments(struct rng *rng, struct segment segment[static MAX_SEGMENTS])
{
    uint64_t unit = rng_between(rng, 1, 4), step = unit + rng_between(rng, 1, 5), jump = rng_between(rng, 0, 9);
    uint64_t every = rng_between(rng, 1, 9), at = rng_below(rng, 10);
    unsigned odd = rng_chance(rng, 50) ? 0 : (unsigned) rng_below(rng, 30);
    size_t n = rng_below(rng, MAX_SEGMENTS + 1);

    for (size_t i = 0; i < n; i++) {
        uint64_t len = rng_chance(rng, odd) ? rng_between(rng, 1, 6) : unit;

        segment[i] = (struct segment){ at, at + len };
        at += MAX(len + 1, step) + (i % every == every - 1 ? jump : 0);
    }
    return n;
}

Test(fold, keeps_every_byte)
{
    static struct segment segment[MAX_SEGMENTS];

    for (struct rng rng = rng_from_env(10000); rng_next(&rng);) {
        size_t n = random_segments(&rng, segment);
        cleanup(fold_freep) struct fold *fold = NULL;
        cleanup(nest_freep) struct nest *nest = NULL, *parsed = NULL;
        struct layout_error error;
        char *text = NULL;
        uint64_t k = 0;
        size_t len;
        FILE *out;

        cr_assert_eq(fold_new(segment, n, MAX_SEGMENTS, &fold), 0);
        cr_assert_eq(fold_nest(fold, &nest), 0);
        cr_assert_leq(fold_nodes(fold), 2 * n, RNG_SEED, rng.seed);
        for (size_t i = 0; i < n; i++)
            for (uint64_t byte = segment[i].off; byte < segment[i].end; byte++, k++)
                cr_assert(k < nest->size && nest_select(nest, k) == byte, RNG_SEED ": byte %" PRIu64, rng.seed, byte);
        cr_assert_eq(nest->size, k, RNG_SEED, rng.seed);
        if (n == 0)
            continue;
        out = open_memstream(&text, &len);
        fputc('{', out);
        fold_print(out, fold);
        fputc('}', out);
        fclose(out);
        cr_assert_eq(nest_parse(text, len, &parsed, &error), 0, RNG_SEED ": %s: %s", rng.seed, text, error.why);
        cr_assert_eq(parsed->size, k, RNG_SEED ": %s", rng.seed, text);
        for (uint64_t i = 0; i < k; i++)
            cr_assert_eq(nest_select(parsed, i), nest_select(nest, i), RNG_SEED ": %s", rng.seed, text);
        free(text);
    }
}

/* -- names -- */

struct shape_case {
    char why[40];
    uint32_t n_ranks;
    char falls[64];        /* of rank 0 */
    uint64_t shift, apart; /* of the others; from piece to piece */
    enum shape_kind kind;
    size_t n_groups;
};

ParameterizedTestParameters(shape, names)
{
    static struct shape_case rows[] = {
        { "columns", 4, "{(0,1,8,10)}", 2, 8, SHAPE_COLUMNS, 1 },
        { "rows", 4, "{(0,9,10,1)}", 10, 0, SHAPE_PIECE, 1 },
        { "all of it", 4, "{(0,99,100,1)}", 0, 0, SHAPE_SAME, 1 },
        { "every other row", 3, "{(0,9,20,5)}", 100, 20, SHAPE_STRIDED, 1 },
        { "square blocks", 2, "{(0,27,40,3,{(0,3,12,3)})}", 4, 12, SHAPE_BLOCKS, 1 },
        { "one strided", 1, "{(5,6,7,8)}", 0, 7, SHAPE_STRIDED, 1 },
        { "nothing regular", 1, "{(0,1,2,1),(5,5,1,1),(9,11,3,1)}", 0, 0, SHAPE_IRREGULAR, 1 },
    };

    return cr_make_param_array(struct shape_case, rows, ARRAY_SIZE(rows));
}

/* A rank touches a set, piece by piece. */
static void touch_set(struct touches *touches, uint32_t rank, const struct nest *nest, uint64_t shift)
{
    uint64_t len;

    for (uint64_t k = 0; k < nest->size; k += len) {
        uint64_t off = nest_select_run(nest, k, &len) + shift;

        cr_assert(array_grow(touches->touch, touches->n));
        touches->touch[touches->n++] = (struct touch){ off, off + len, 0, rank, false, false };
    }
    touches->n_ranks = rank + 1;
}

ParameterizedTest(struct shape_case *row, shape, names)
{
    cleanup(nest_freep) struct nest *nest = nest_of(row->falls);
    struct touches touches = { 0 };
    struct extents extents;
    struct shapes shapes;

    for (uint32_t rank = 0; rank < row->n_ranks; rank++)
        touch_set(&touches, rank, nest, rank * row->shift);
    cr_assert_eq(extents_init(&extents, &touches, EXTENTS_READ), 0);
    cr_assert_eq(shapes_init(&shapes, &extents), 0);
    cr_expect_eq(shapes.n, row->n_groups, "%s: %zu groups", row->why, shapes.n);
    cr_expect_eq(shapes.group[0].kind, row->kind, "%s: kind %d", row->why, (int) shapes.group[0].kind);
    cr_expect_eq(shapes.group[0].n_ranks, row->n_ranks, "%s", row->why);
    cr_expect_eq(shapes.group[0].shift, row->shift, "%s", row->why);
    cr_expect_eq(shapes.group[0].apart, row->apart, "%s", row->why);
    cr_expect(shapes.group[0].bytes == nest->size, "%s", row->why);
    shapes_done(&shapes);
    extents_done(&extents);
    touches_done(&touches);
}

/* -- sections -- */

static void random_section(struct rng *rng, struct array *array, struct range section[static ARRAY_MAX_DIMS])
{
    *array = (struct array){ .ndims = (uint32_t) rng_between(rng, 1, 4),
                             .order = rng_chance(rng, 50) ? ARRAY_ROW_MAJOR : ARRAY_COLUMN_MAJOR,
                             .elem = rng_between(rng, 1, 9),
                             .header = rng_chance(rng, 50) ? 0 : rng_below(rng, 50) };
    for (uint32_t i = 0; i < array->ndims; i++) {
        uint64_t size = array->size[i] = rng_between(rng, 1, 9), a = rng_below(rng, size), b = rng_below(rng, size);
        uint64_t stride = rng_between(rng, 1, 4);

        section[i] = (struct range){ MIN(a, b), MIN(a, b) + (MAX(a, b) - MIN(a, b)) / stride * stride, stride };
        if (section[i].lower == section[i].upper)
            section[i].stride = 1; /* as it is told */
    }
}

Test(shape, finds_the_section_that_was_accessed)
{
    for (struct rng rng = rng_from_env(10000); rng_next(&rng);) {
        cleanup(nest_freep) struct nest *nest = NULL, *folded = NULL;
        cleanup(fold_freep) struct fold *fold = NULL;
        struct range section[ARRAY_MAX_DIMS], found[ARRAY_MAX_DIMS];
        struct touches touches = { 0 };
        struct extents extents;
        struct array array;

        random_section(&rng, &array, section);
        cr_assert_eq(section_new(&array, section, &nest), 0);
        touch_set(&touches, 0, nest, 0);
        cr_assert_eq(extents_init(&extents, &touches, EXTENTS_READ), 0);
        cr_assert_eq(fold_new(extents.segment, extents.first[1], FALLS_MAX_NODES, &fold), 0);
        cr_assert_eq(fold_nest(fold, &folded), 0);
        cr_assert(shape_section(&array, folded, found), RNG_SEED, rng.seed);
        for (uint32_t i = 0; i < array.ndims; i++)
            cr_assert(found[i].lower == section[i].lower && found[i].upper == section[i].upper &&
                          found[i].stride == section[i].stride,
                      RNG_SEED ": dimension %" PRIu32 ": %" PRIu64 ":%" PRIu64 ":%" PRIu64, rng.seed, i, found[i].lower,
                      found[i].upper, found[i].stride);
        extents_done(&extents);
        touches_done(&touches);
    }
}

Test(shape, takes_no_other_set_for_a_section)
{
    const struct array array = { .ndims = 2, .elem = 4, .size = { 8, 8 } };
    static const char *const text[] = { "{(0,3,4,1),(36,39,4,1)}", "{(0,2,3,1)}", "{(1,4,4,1)}", "{(0,3,1000,2)}",
                                        "{(0,3,8,2),(32,35,4,2)}" };
    struct range found[ARRAY_MAX_DIMS];

    for (size_t i = 0; i < ARRAY_SIZE(text); i++) {
        cleanup(nest_freep) struct nest *nest = nest_of(text[i]);

        cr_expect_not(shape_section(&array, nest, found), "%s", text[i]);
    }
}
