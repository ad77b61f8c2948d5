/* SPDX-License-Identifier: MIT */
/* The texts of patterns in traces, and which bytes they are. */
#include "fs/ctl/think/pattern_read.h"
#include "test/support/texts.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

struct pattern_case {
    char text[128];
    char want[64]; /* the bytes, at most 16 of them; empty: it is refused */
};

ParameterizedTestParameters(pattern_read, texts)
{
    static struct pattern_case rows[] = {
        { "shape=3x4 elem=1 order=row header=0 section=0:2:2,1:3:2", "1 3 9 11" },
        { "shape=3x4 elem=2 order=col header=5 section=1:1:1,0:3:3", "7 8 25 26" },
        { "disp=512 {(0,1,8,2)}", "512 513 520 521" },
        { "disp=0 extent=6 skip=2 bytes=5 {(0,1,3,2)}", "3 4 6 7 9" },
        { "disp=0 extent=0 skip=1 bytes=2 {(0,0,3,4)}", "3 6" },
        { "disp=100 extent=6 skip=2 bytes=5 pieces=(0,2),(3,1)", "103 106 107 109 112" },
        { "disp=1 extent=0 skip=0 bytes=4 pieces=(0,1),(1,1),(5,2)", "1 2 6 7" },
        { "disp=0 {(1,1,2,2)} of view stripe(2,2) element 1", "3 7" },
        { "shape=2x2 elem=1 order=row header=0 section=0:1:1,0:0:1 of view stripe(4,2) element 0", "0 2" },
        { "disp=0 extent=6 skip=2 bytes=5 pieces=(0,2),(3,1),...", "" },
        { "disp=0 extent=6 skip=2 bytes=5 pieces=", "" },
        { "disp=0 extent=6 skip=2 bytes=5 pieces=(3,1),(0,2)", "" },
        { "disp=0 extent=0 skip=0 bytes=9 pieces=(0,2)", "" },
        { "disp= {(0,1,8,2)}", "" },
        { "disp=-1 {(0,1,8,2)}", "" },
        { "disp=4611686018427387904 {(0,1,8,2)}", "" },
        { "shape=3x4 elem=1 order=row header=0 section=0:2:2", "" },
        { "shape=3x4 elem=1 order=row header=0 section=0:2:2,0:4:1", "" },
        { "shape=3x4 elem=1 order=row header=0", "" },
        { "stripe(2,2) element 2", "" },
        { "disp=0 {(0,9,10,1)} of view {(0,0,1,1);()} element 1", "" },
        { "anything", "" },
        { "", "" },
    };

    return cr_make_param_array(struct pattern_case, rows, ARRAY_SIZE(rows));
}

ParameterizedTest(struct pattern_case *row, pattern_read, texts)
{
    cleanup(nest_freep) struct nest *nest = NULL;
    char found[512] = "";
    int r = pattern_read(row->text, 2, &nest);

    cr_expect_eq(r == 0, row->want[0] != 0, "%s: %d", row->text, r);
    for (uint64_t k = 0; r == 0 && k < MIN(nest->size, 16); k++)
        snprintf(found + strlen(found), sizeof found - strlen(found), "%s%" PRIu64, k > 0 ? " " : "",
                 nest_select(nest, k));
    cr_expect_str_eq(found, row->want, "%s: %s", row->text, found);
}

/* A view selects all that its element has, as far as a file can reach. */
Test(pattern_read, views)
{
    cleanup(nest_freep) struct nest *nest = NULL;

    cr_assert_eq(pattern_read("stripe(2,2) element 1", 4, &nest), 0);
    for (uint64_t k = 0; k < 1000; k++)
        cr_assert_eq(nest_select(nest, k), k / 2 * 4 + 2 + k % 2);
}
