/* SPDX-License-Identifier: MIT */
/* The worked examples of the Clusterfile paper, a row each. */
#include "layout/layout.h"
#include "layout/map.h"
#include "layout/overlap.h"
#include "layout/section.h"
#include "test/support/texts.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <string.h>

/* -- Figures 1 and 2: what a set selects -- */

struct set_case {
    char why[48], text[64];
    uint64_t size, members[16];
};

ParameterizedTestParameters(papers, sets)
{
    static struct set_case rows[] = {
        { "Figure 1: FALLS (3,5,6,5)", "{(3,5,6,5)}", 15, { 3, 4, 5, 9, 10, 11, 15, 16, 17, 21, 22, 23, 27, 28, 29 } },
        { "Figure 2: nested FALLS", "{(0,3,8,2,{(0,0,2,2)})}", 4, { 0, 2, 8, 10 } },
        { "a line segment", "{(2,4,3,1)}", 3, { 2, 3, 4 } },
        { "two members", "{(0,1,4,2),(9,9,1,1)}", 5, { 0, 1, 4, 5, 9 } },
        { "members that interleave", "{(0,0,4,3),(2,2,4,2)}", 5, { 0, 2, 4, 6, 8 } },
        { "out of order", "{(9,9,1,1),(0,1,4,2)}", 5, { 0, 1, 4, 5, 9 } },
        { "inner members interleave", "{(0,7,8,2,{(0,0,4,2),(2,2,4,2)})}", 8, { 0, 2, 4, 6, 8, 10, 12, 14 } },
        { "a segment in a hole", "{(0,0,4,3),(5,6,2,1)}", 5, { 0, 4, 5, 6, 8 } },
        { "nothing", "{}", 0, { 0 } },
    };

    return cr_make_param_array(struct set_case, rows, ARRAY_SIZE(rows));
}

ParameterizedTest(struct set_case *row, papers, sets)
{
    cleanup(nest_freep) struct nest *nest = nest_of(row->text);

    cr_assert_eq(nest->size, row->size, "%s", row->why);
    for (uint64_t k = 0; k < row->size; k++) {
        cr_expect_eq(nest_select(nest, k), row->members[k], "%s: member %" PRIu64, row->why, k);
        cr_expect_eq(nest_rank(nest, row->members[k]), k, "%s: rank of %" PRIu64, row->why, row->members[k]);
    }
    cr_expect_eq(nest_rank(nest, UINT64_MAX), row->size, "%s", row->why);
}

/* -- Figure 3: a file and its subfiles -- */

#define FIGURE3 "{(0,1,6,1);(2,3,6,1);(4,5,6,1)} disp 2"

struct map_case {
    char why[32], text[48];
    uint64_t file_off;
    uint32_t element;
    uint64_t sub_off;
};

ParameterizedTestParameters(papers, maps)
{
    static struct map_case rows[] = {
        { "Figure 3: MAP(10) = 2", FIGURE3, 10, 1, 2 },  { "first byte", FIGURE3, 2, 0, 0 },
        { "last of the period", FIGURE3, 7, 2, 1 },      { "the header", FIGURE3, 1, ELEMENT_HEADER, 1 },
        { "stripe", "stripe(64K,4)", 327680, 1, 65536 },
    };

    return cr_make_param_array(struct map_case, rows, ARRAY_SIZE(rows));
}

ParameterizedTest(struct map_case *row, papers, maps)
{
    cleanup(layout_freep) struct layout *layout = layout_of(row->text);
    struct place place;
    uint64_t back;

    cr_assert_eq(pattern_map(layout->pattern, row->file_off, &place), 0, "%s", row->why);
    cr_expect_eq(place.element, row->element, "%s", row->why);
    cr_expect_eq(place.sub_off, row->sub_off, "%s", row->why);
    cr_assert_eq(pattern_unmap(layout->pattern, row->element, row->sub_off, &back), 0, "%s", row->why);
    cr_expect_eq(back, row->file_off, "%s", row->why);
}

/* A byte that is not in the element: the one before it and the one after it that are. */
Test(papers, figure_3_next_and_previous_byte_of_element_0)
{
    cleanup(layout_freep) struct layout *layout = layout_of(FIGURE3);
    const struct nest *nest = pattern_element(layout->pattern, 0);
    uint64_t byte;

    cr_expect(nest_prev(nest, 5, &byte) && byte == 3 && nest_rank(nest, byte) == 1);
    cr_expect(nest_next(nest, 5, &byte) && byte == 8 && nest_rank(nest, byte) == 2);
    cr_expect_not(nest_prev(nest, 1, &byte));
}

/* -- CUT-FALLS -- */

struct cut_case {
    char why[40], text[48];
    uint64_t lo, hi;
    char want[64];
};

ParameterizedTestParameters(papers, cuts)
{
    static struct cut_case rows[] = {
        { "CUT-FALLS((3,5,6,5), 4, 28)", "{(3,5,6,5)}", 4, 29, "{(0,1,2,1),(5,7,6,3),(23,24,2,1)}" },
        { "whole blocks", "{(3,5,6,5)}", 3, 15, "{(0,2,6,2)}" },
        { "inside a block", "{(3,5,6,5)}", 10, 11, "{(0,0,1,1)}" },
        { "inside a hole", "{(3,5,6,5)}", 12, 15, "{}" },
        { "nested", "{(0,3,8,2,{(0,0,2,2)})}", 1, 9, "{(1,1,6,2)}" },
        { "nothing of anything", "{(3,5,6,5)}", 20, 20, "{}" },
    };

    return cr_make_param_array(struct cut_case, rows, ARRAY_SIZE(rows));
}

ParameterizedTest(struct cut_case *row, papers, cuts)
{
    cleanup(nest_freep) struct nest *nest = nest_of(row->text);
    cleanup(nest_freep) struct nest *cut = NULL;
    struct text got;

    cr_assert_eq(nest_cut(nest, row->lo, row->hi, &cut), 0, "%s", row->why);
    got = text_of_nest(cut);
    cr_expect_str_eq(got.s, row->want, "%s: %s", row->why, got.s);
}

/* -- INTERSECT-FALLS, INTERSECT, projections -- */

struct overlap_case {
    char why[48], a[48], b[48];
    uint64_t period;
    char common[48], on_a[48], on_b[48];
};

ParameterizedTestParameters(papers, overlaps)
{
    static struct overlap_case rows[] = {
        { "INTERSECT-FALLS((0,7,16,2), (0,3,8,4))", "{(0,7,16,2)}", "{(0,3,8,4)}", 32, "{(0,3,16,2)}", "{(0,3,8,2)}",
          "{(0,3,8,2)}" },
        { "Figure 4", "{(0,7,16,2,{(0,1,4,2)})}", "{(0,3,8,4,{(0,0,2,2)})}", 32, "{(0,0,16,2)}", "{(0,0,4,2)}",
          "{(0,0,4,2)}" },
        { "equal sets: both projections are whole", "{(0,3,8,4)}", "{(0,3,8,4)}", 32, "{(0,3,8,4)}", "{(0,15,16,1)}",
          "{(0,15,16,1)}" },
        { "nothing in common", "{(0,3,8,4)}", "{(4,7,8,4)}", 32, "{}", "{}", "{}" },
        { "strides 6 and 4", "{(0,1,6,4)}", "{(0,1,4,6)}", 24, "{(0,1,12,2)}", "{(0,1,4,2)}", "{(0,1,6,2)}" },
        { "one byte where coprime strides meet", "{(0,0,7,11)}", "{(0,0,11,7)}", 77, "{(0,0,1,1)}", "{(0,0,1,1)}",
          "{(0,0,1,1)}" },
    };

    return cr_make_param_array(struct overlap_case, rows, ARRAY_SIZE(rows));
}

ParameterizedTest(struct overlap_case *row, papers, overlaps)
{
    cleanup(nest_freep) struct nest *a = nest_of(row->a);
    cleanup(nest_freep) struct nest *b = nest_of(row->b);
    cleanup(overlap_done) struct overlap overlap = { 0 };

    cr_assert_eq(overlap_of_nests(a, b, 0, row->period, &overlap), 0, "%s", row->why);
    cr_expect_str_eq(text_of_nest(overlap.common).s, row->common, "%s: %s", row->why, text_of_nest(overlap.common).s);
    cr_expect_str_eq(text_of_nest(overlap.on_a).s, row->on_a, "%s: on a %s", row->why, text_of_nest(overlap.on_a).s);
    cr_expect_str_eq(text_of_nest(overlap.on_b).s, row->on_b, "%s: on b %s", row->why, text_of_nest(overlap.on_b).s);
}

/* MAP_S(MAP_V^-1(y)) for Figure 4's two elements: byte 4 of V is byte 4 of S. */
Test(papers, figure_4_mapping_between_two_partitions)
{
    cleanup(layout_freep) struct layout *v = layout_of("{(0,7,16,2,{(0,1,4,2)});(0,7,16,2,{(2,3,4,2)});(8,15,16,2)}");
    cleanup(layout_freep) struct layout *s = layout_of("{(0,3,8,4,{(0,0,2,2)});(0,3,8,4,{(1,1,2,2)});(4,7,8,4)}");
    struct place place;

    cr_assert_eq(pattern_map_between(v->pattern, 0, 4, s->pattern, &place), 0);
    cr_expect_eq(place.element, 0);
    cr_expect_eq(place.sub_off, 4);
}

/* -- section 8: a matrix on 4 subfiles, seen through 4 row-block views -- */

struct matrix_case {
    char why[16], dist[24], grid[8];
    uint64_t runs_per_view; /* in units of n / 1024 */
};

ParameterizedTestParameters(papers, matrices)
{
    static struct matrix_case rows[] = {
        { "row blocks", "block,*", "4x1", 0 },
        { "square blocks", "block,block", "2x2", 512 },
        { "column blocks", "*,block", "1x4", 1024 },
    };

    return cr_make_param_array(struct matrix_case, rows, ARRAY_SIZE(rows));
}

ParameterizedTest(struct matrix_case *row, papers, matrices)
{
    for (uint64_t n = 256; n <= 65536; n *= 4) {
        char stored[128], view[128];
        uint64_t runs = 0;

        snprintf(stored, sizeof stored, "array(shape=%" PRIu64 "x%" PRIu64 ", dist=(%s), grid=%s)", n, n, row->dist,
                 row->grid);
        snprintf(view, sizeof view, "array(shape=%" PRIu64 "x%" PRIu64 ", dist=(block,*), grid=4x1)", n, n);
        cleanup(layout_freep) struct layout *a = layout_of(stored);
        cleanup(layout_freep) struct layout *b = layout_of(view);

        for (uint32_t i = 0; i < 4; i++) {
            cleanup(overlap_done) struct overlap overlap = { 0 };

            cr_assert_eq(overlap_of_elements(a->pattern, i, b->pattern, 0, &overlap), 0);
            cr_expect_leq(overlap.common->n_nodes, 1, "%s: one FALLS says it all, whatever n", row->why);
            runs += overlap.runs;
        }
        /* A view has n / 4 rows, each of which is two runs where blocks are square, and four where they are columns. */
        if (row->runs_per_view == 0)
            cr_expect_eq(runs, 1, "%s", row->why);
        else
            cr_expect_eq(runs, n * row->runs_per_view / 1024, "%s: n %" PRIu64 ", %" PRIu64 " runs", row->why, n, runs);
    }
}
