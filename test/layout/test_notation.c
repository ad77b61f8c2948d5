/* SPDX-License-Identifier: MIT */
/* What the notation accepts, what it prints, and where it says a mistake is. */
#include "layout/layout.h"
#include "test/support/texts.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <string.h>

/* -- canonical forms -- */

struct canonical_case {
    char text[160], want[160];
};

ParameterizedTestParameters(notation, canonical)
{
    static struct canonical_case rows[] = {
        { "one", "{(0,0,1,1)}" },
        { "stripe(1M,4)", "{(0,1048575,1048576,1;1048576,4)}" },
        { " stripe ( 1M , 4 ) # four of them\n", "{(0,1048575,1048576,1;1048576,4)}" },
        { "{(0,1048575,1048576,1;1048576,4)}", "{(0,1048575,1048576,1;1048576,4)}" },
        { "stripe(64K)", "stripe(64K)" },
        { "stripe(65536) disp 1K on all", "stripe(64K) disp 1024 on all" },
        { "twod(64K,2,4) on pool:fast", "twod(64K,2,4) on pool:fast" },
        { "stripe(1) on d0,d1,d1,d0", "{(0,0,1,1;1,4)} on d0-d1,d1,d0" },
        { "stripe(1) on d3,d5-d6,d0", "{(0,0,1,1;1,4)} on d3,d5-d6,d0" },
        { "twod(1,2,3) on d0-d3", "{(0,0,2,3;1,2);(6,6,2,3;1,2)} on d0-d3" },
        { "twod(2,2,2) on d0-d4", "{(0,1,4,2;2,2);(8,9,6,2;2,3)} on d0-d4" },
        { "twod(1,9,2) on d0,d1", "{(0,1,2,1;2,2)} on d0-d1" },
        { "var(1,2,3)", "{(0,0,1,1);(1,2,2,1);(3,5,3,1)}" },
        { "{(0,1,6,1);(2,3,6,1);(4,5,6,1)} disp 2", "{(0,1,2,1;2,3)} disp 2" },
        { "{(0,3,8,2,{(0,0,2,2)});(0,3,8,2,{(1,1,2,2)});(4,7,8,2)}", "{(0,2,8,2;1,2,{(0,0,2,2)});(4,7,8,2)}" },
        { "{d1:(0,3,4,1);d0:(4,7,4,1)}", "{d1:(0,3,4,1);d0:(4,7,4,1)}" },
        { "{d2:(0,3,4,1;4,2)}", "{d2:(0,3,4,1;4,2)}" },
        { "{(0,3,4,1);();(4,7,4,1)}", "{(0,3,4,1);();(4,7,4,1)}" },
        { "{(0,0,2,4),(1,1,2,4)}", "{(0,7,8,1)}" },
        { "{(0,7,8,1,{(0,0,4,2),(1,3,4,2)})}", "{(0,7,8,1)}" },
        { "{(0,3,4,1;4,2,{(0,1,2,1;2,2)})}", "{(0,1,2,1;2,4)}" },
        { "array(shape=8x8,elem=1,dist=(block,block),grid=2x2)", "{(0,3,8,4;4,2);(32,35,8,4;4,2)}" },
        { "array(shape=8x8,order=col,dist=(block,block),grid=2x2)", "{(0,3,8,4;32,2);(4,7,8,4;32,2)}" },
        { "array(shape=8x8,dist=(*,cyclic),grid=1x8)", "{(0,0,8,8;1,8)}" },
        { "array(shape=4,dist=(cyclic(2)),grid=2)", "{(0,1,2,1;2,2)}" },
        { "array(shape=10,elem=2,dist=(block),grid=4)", "{(0,5,6,1;6,3);(18,19,2,1)}" },
        { "array(shape=2,dist=(block),grid=4)", "{(0,0,1,1;1,2);();()}" },
        { "array(shape=3x3,dist=(*,*))", "{(0,8,9,1)}" },
        { "array(shape=9,dist=(cyclic(2)),grid=2)", "{(0,1,4,2),(8,8,1,1);(2,3,4,2)}" },
        { "stripe(1M,4) copies 2", "{(0,1048575,1048576,1;1048576,4)} copies 2" },
        { "stripe(1M) copies 1", "stripe(1M)" },
        { "stripe(1M)on all copies 2 # twice", "stripe(1M) on all copies 2" },
        { "twod(64K,2,4) on pool:fast\n\tcopies\n2", "twod(64K,2,4) on pool:fast copies 2" },
        { "one disp 3 on d1,d1,d0 copies 2", "{(0,0,1,1)} disp 3 on d1,d1,d0 copies 2" },
        { "{(0,1,2,1;2,3)} on d0-d5 copies 1", "{(0,1,2,1;2,3)} on d0-d5" },
        { "{d1:(0,3,4,1);d0:(4,7,4,1)} copies 1", "{d1:(0,3,4,1);d0:(4,7,4,1)}" },
    };

    return cr_make_param_array(struct canonical_case, rows, ARRAY_SIZE(rows));
}

ParameterizedTest(struct canonical_case *row, notation, canonical)
{
    cleanup(layout_freep) struct layout *layout = layout_of(row->text);
    struct text text = text_of_layout(layout);
    cleanup(layout_freep) struct layout *again = layout_of(text.s);

    cr_expect_str_eq(text.s, row->want, "%s is %s", row->text, text.s);
    cr_expect_str_eq(text_of_layout(again).s, text.s, "%s is no fixed point: %s", text.s, text_of_layout(again).s);
    cr_expect_str_eq(layout->text, row->text, "kept as typed");
}

/* -- mistakes -- */

struct error_case {
    char text[96];
    int r;
    size_t column;
    char why[96]; /* what the message begins with */
};

ParameterizedTestParameters(notation, errors)
{
    static struct error_case rows[] = {
        { "", -EINVAL, 1, "expected one, stripe, var, twod, array or {, found the end" },
        { "strip(1)", -EINVAL, 1, "expected one, stripe" },
        { "stripe", -EINVAL, 7, "expected '('" },
        { "stripe(", -EINVAL, 8, "expected a number, found the end" },
        { "stripe(0)", -EINVAL, 8, "the stripe unit must be at least 1" },
        { "stripe(-1)", -EINVAL, 8, "negative number" },
        { "stripe(64k)", -EINVAL, 10, "'k' is no size suffix" },
        { "stripe(64KB)", -EINVAL, 11, "expected ',' or ')', found 'B'" },
        { "stripe(1,0)", -EINVAL, 10, "the number of elements must be at least 1" },
        { "stripe(1,4097)", -E2BIG, 10, "more than 4096 elements" },
        { "stripe(4611686018427387905)", -EOVERFLOW, 8, "number larger than 2^62" },
        { "stripe(99999999999999999999999)", -EOVERFLOW, 8, "number larger than 2^62" },
        { "stripe(4194304T)", 0, 0, "" },
        { "stripe(4194305T)", -EOVERFLOW, 8, "number larger than 2^62" },
        { "stripe(4194304T,2)", -EOVERFLOW, 1, "one period of this layout is longer than 2^62 bytes" },
        { "stripe(4194304T,1) disp 1", -EOVERFLOW, 1, "displacement and period reach past byte 2^62" },
        { "stripe(1,2) x", -EINVAL, 13, "expected disp, on, copies or nothing more, found 'x'" },
        { "stripe(1,2) on d0 d1", -EINVAL, 19, "expected copies or nothing more, found 'd1'" },
        { "stripe(1,2) copies 2 on d0-d1", -EINVAL, 22, "expected nothing more, found 'on'" },
        { "stripe(1,2) copies 1 copies 1", -EINVAL, 22, "expected nothing more, found 'copies'" },
        { "stripe(1,2) copies", -EINVAL, 19, "expected a number, found the end" },
        { "stripe(1,2) copies d1", -EINVAL, 20, "expected a number, found 'd1'" },
        { "stripe(1,2) copies -2", -EINVAL, 20, "negative number" },
        { "stripe(1,2) copies2", -EINVAL, 13, "expected disp, on, copies or nothing more, found 'copies2'" },
        { "stripe(1,2) copies 0", -EINVAL, 20, "copies is 1 or 2: on so many disks each byte lies" },
        { "stripe(1,2) on all copies 3", -EINVAL, 27, "copies is 1 or 2: on so many disks each byte lies" },
        { "stripe(1,2) copies 4611686018427387905", -EOVERFLOW, 20, "number larger than 2^62" },
        { "{d0:(0,3,4,1);(4,7,4,1)} on d1,d2 copies 2", -EINVAL, 42, "copies 2 wants a list of disks" },
        { "{d0:(0,3,4,1);d1:(4,7,4,1)} copies 2", -EINVAL, 36, "copies 2 wants a list of disks" },
        { "one on d5 copies 2", -EINVAL, 18, "copies 2 puts each byte on two disks, and the list names only d5: name" },
        { "stripe(1) on d5,d5 copies 2", -EINVAL, 27, "copies 2 puts each byte on two disks, and the list" },
        { "stripe(1,2) on", -EINVAL, 15, "expected disks" },
        { "stripe(1,2) on d3-d1", -EINVAL, 16, "the range runs backwards: write d1-d3" },
        { "stripe(1,2) on d99999", -EINVAL, 16, "disk numbers go up to d65535" },
        { "stripe(1,2) on pool:", -EINVAL, 21, "expected the name of a pool" },
        { "stripe(1,2)\ndisp x", -EINVAL, 6, "expected a number, found 'x'" },
        { "var()", -EINVAL, 5, "expected a number" },
        { "var(1,)", -EINVAL, 7, "expected a number" },
        { "twod(1,2)", -EINVAL, 9, "expected ','" },
        { "{}", -EINVAL, 2, "expected a FALLS (l,r,s,n)" },
        { "{()}", -EINVAL, 1, "no element has any bytes" },
        { "{(0,1,2)}", -EINVAL, 8, "expected ','" },
        { "{(3,1,2,1)}", -EINVAL, 5, "right end 1 lies before the left end 3" },
        { "{(0,1,0,1)}", -EINVAL, 7, "stride 0" },
        { "{(0,1,-2,1)}", -EINVAL, 7, "negative number" },
        { "{(0,1,2,0)}", -EINVAL, 9, "count 0" },
        { "{(0,3,2,2)}", -EINVAL, 7, "stride 2 is less than the block of 4 bytes" },
        { "{(0,1,2,1);}", -EINVAL, 12, "expected a FALLS (l,r,s,n)" },
        { "{(0,1,2,1)", -EINVAL, 11, "expected ',', ';' or '}', found the end" },
        { "{(0,1,2,1;2)}", -EINVAL, 12, "expected ','" },
        { "{(0,1,2,1;2,0)}", -EINVAL, 13, "the number of elements must be at least 1" },
        { "{(0,1,2,1;2,4097)}", -E2BIG, 13, "more than 4096 elements" },
        { "{(0,1,4,1;2,2),(8,9,2,1)}", -EINVAL, 16, "this FALLS stands for 1 elements, the first of its set for 2" },
        { "{(0,3,4,1,{(0,4,5,1)})}", -EINVAL, 12, "inner FALLS reaches byte 4, the block around it has only 4 bytes" },
        { "{(0,3,4,1,{})}", -EINVAL, 12, "expected a FALLS" },
        { "{(0,4611686018427387904,4611686018427387904,2)}", -EOVERFLOW, 2, "this FALLS reaches past byte 2^62" },
        { "{(0,0,4611686018427387904,2)}", -EOVERFLOW, 2, "this FALLS reaches past byte 2^62" },
        { "{(0,0,2,4611686018427387904)}", -EOVERFLOW, 2, "this FALLS reaches past byte 2^62" },
        { "{(0,0,1,1;4611686018427387904,2)}", -EOVERFLOW, 2, "the last element of this FALLS" },
        { "{d:(0,1,2,1)}", -EINVAL, 2, "expected a disk such as d0" },
        { "{d1(0,1,2,1)}", -EINVAL, 4, "expected ':'" },
        { "{(0,3,4,1);(2,5,4,1)}", -ERANGE, 12, "FALLS 1 overlaps FALLS 0 at byte 2" },
        { "{(4096,8191,4096,1);(0,4095,4096,1);(4096,4097,2,1)}", -ERANGE, 37,
          "FALLS 2 overlaps FALLS 0 at byte 4096" },
        { "{(0,0,2,9);(1,1,2,8);(4,4,1,1)}", -ERANGE, 22, "FALLS 2 overlaps FALLS 0 at byte 4" },
        { "{(0,3,4,2,{(0,1,2,1),(1,2,2,1)});(3,3,4,2)}", -ERANGE, 2, "FALLS 0 overlaps itself at byte 1" },
        { "{(0,3,4,1);(5,6,2,1)}", -ERANGE, 12, "gap: no FALLS covers byte 4, the next is byte 5 of FALLS 1" },
        { "{(1,1,1,1)}", -ERANGE, 2, "gap: no FALLS covers byte 0, the next is byte 1 of FALLS 0" },
        { "{(0,0,2,4);(1,1,4,2)}", -ERANGE, 2, "gap: no FALLS covers byte 3, the next is byte 4 of FALLS 0" },
        { "{(0,7,8,2,{(0,3,4,1)})}", -ERANGE, 2, "gap: no FALLS covers byte 4, the next is byte 8 of FALLS 0" },
        /* an overlap further on does not hide a gap, nor one inside a member an earlier one outside */
        { "{(0,3,4,1);(6,9,4,1);(8,9,2,1)}", -ERANGE, 12, "gap: no FALLS covers byte 4" },
        { "{(0,3,4,1);(2,9,8,1,{(4,5,2,1),(5,7,3,1),(0,3,4,1)})}", -ERANGE, 12, "FALLS 1 overlaps FALLS 0 at byte 2" },
        /* strides without a common period: the fault is found where it is, not after the period */
        { "{(0,0,1000003,1000000);(1,1,999983,1000000)}", -ERANGE, 24, "gap: no FALLS covers byte 2" },
        { "array(shape=8)", -EINVAL, 1, "array needs shape= and dist=" },
        { "array(shape=8,dist=(block))", -EINVAL, 20, "a divided dimension needs grid=" },
        { "array(shape=8,dist=(block,*),grid=2)", -EINVAL, 20, "dist has 2 dimensions, shape has 1" },
        { "array(shape=8,dist=(block),grid=2x2)", -EINVAL, 33, "grid has 2 dimensions, shape has 1" },
        { "array(shape=8,dist=(*),grid=2)", -EINVAL, 29, "dimension 0 is not divided (*)" },
        { "array(shape=8,dist=(blok),grid=2)", -EINVAL, 21, "expected block, cyclic" },
        { "array(shape=0,dist=(*))", -EINVAL, 13, "a dimension must be at least 1" },
        { "array(shape=8,elem=0,dist=(*))", -EINVAL, 20, "the element size must be at least 1" },
        { "array(shape=8,dist=(cyclic(0)),grid=2)", -EINVAL, 28, "k of cyclic(k) must be at least 1" },
        { "array(shape=8,shape=8)", -EINVAL, 15, "shape is given twice" },
        { "array(size=8)", -EINVAL, 7, "expected shape=, elem=" },
        { "array(shape=2097152Tx4,dist=(*,*))", -EOVERFLOW, 13, "the array reaches past byte 2^62" },
        { "array(shape=64x65,dist=(block,block),grid=64x65)", -E2BIG, 43, "more than 4096 elements" },
        { "array(shape=2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2,dist=(*))", -E2BIG, 45, "more than 16 dimensions" },
        { "array(shape=8x8,order=up,dist=(*,*))", -EINVAL, 23, "expected row or col" },
        { "\x01stripe(1)", -EINVAL, 1, "expected one, stripe, var, twod, array or {, found byte 0x01" },
    };

    return cr_make_param_array(struct error_case, rows, ARRAY_SIZE(rows));
}

ParameterizedTest(struct error_case *row, notation, errors)
{
    cleanup(layout_freep) struct layout *layout = NULL;
    struct layout_error error = { 0 };
    int r = layout_parse(row->text, strlen(row->text), 0, &layout, &error);

    cr_assert_eq(r, row->r, "%s: %d, column %zu: %s", row->text, r, error.column, error.why);
    cr_expect_eq(error.column, row->column, "%s: column %zu: %s", row->text, error.column, error.why);
    cr_expect_eq(strncmp(error.why, row->why, strlen(row->why)), 0, "%s: %s", row->text, error.why);
    cr_expect_eq(layout == NULL, r < 0);
}

Test(notation, a_mistake_in_several_lines_names_the_line)
{
    cleanup(layout_freep) struct layout *layout = NULL;
    static const char text[] = "array(shape=8x8, # a comment, (\n      dist=(block,*),\n      grid=4x2)";
    struct layout_error error;

    cr_expect_eq(layout_parse(text, strlen(text), 0, &layout, &error), -EINVAL);
    cr_expect_eq(error.line, 3);
    cr_expect_eq(error.column, 12);
}

/* -- the disks of a text are others -- */

struct disks_case {
    char text[96], disks[16], want[96];
};

ParameterizedTestParameters(notation, other_disks)
{
    static struct disks_case rows[] = {
        { "stripe(1M)", " on d0-d3", "stripe(1M) on d0-d3" },
        { "stripe(1M) copies 2", " on d0-d3", "stripe(1M) on d0-d3 copies 2" },
        { " stripe( 1M)on d1,d0\ncopies 2 # safe", " on d2", " stripe( 1M) on d2 copies 2" },
        { "stripe(1M) disp 8 on pool:fast copies 2", "", "stripe(1M) disp 8 copies 2" },
        { "stripe(1M) on all copies 1", "", "stripe(1M)" },
        { "stripe(1M) # mine\n on d1", "", "stripe(1M) # mine" },
        { "stripe(1M) # mine\n on d1", " on d0", "stripe(1M) # mine\n on d0" },
        { "stripe(1M) # mine\n copies 2", "", "stripe(1M) # mine\n copies 2" },
        { "stripe(1M) # mine\n copies 2 # yours", " on d0,d1", "stripe(1M) # mine\n on d0,d1 copies 2" },
    };

    return cr_make_param_array(struct disks_case, rows, ARRAY_SIZE(rows));
}

ParameterizedTest(struct disks_case *row, notation, other_disks)
{
    cleanup(layout_freep) struct layout *layout = layout_of(row->text);
    cleanup(freep) char *text = layout_with_disks(layout, row->disks), *bare = layout_without_disks(layout);

    cr_expect_str_eq(text, row->want, "%s: %s", row->text, text);
    if (row->disks[0] == 0)
        cr_expect_str_eq(bare, row->want, "%s: %s", row->text, bare);
}

/* -- limits -- */

/* Writes into text, which has room for 256 KiB, a layout with n of something. */
typedef void make_text(char *text, unsigned n);

static void make_levels(char *text, unsigned n)
{
    char *at = text + sprintf(text, "{");

    /* n levels whose strides leave no two of them equal to one: (0,0,2,2) within (0,2,6,2) within ... */
    uint64_t len = 1;
    uint64_t lens[64];

    for (unsigned i = 0; i < n; i++, len = len * 2 + 1)
        lens[i] = len;
    for (unsigned i = n; i-- > 0;)
        at += sprintf(at, "(0,%" PRIu64 ",%" PRIu64 ",2%s", lens[i] - 1, lens[i] + 1, i > 0 ? ",{" : "");
    for (unsigned i = 0; i < n; i++)
        at += sprintf(at, ")%s", i + 1 < n ? "}" : "");
    sprintf(at, "}");
}

static void make_elements(char *text, unsigned n)
{
    char *at = text + sprintf(text, "{");

    for (unsigned i = 0; i < n; i++)
        at += sprintf(at, "%s(%u,%u,1,1)", i > 0 ? ";" : "", i, i);
    sprintf(at, "}");
}

static void make_nodes(char *text, unsigned n)
{
    sprintf(text, "{(0,%u,%u,1;%u,%u,{(0,0,2,1)});(1,1,2,%u)}", 0, 2, 2, n - 1, n - 1);
}

static void make_long_text(char *text, unsigned n)
{
    size_t len = (size_t) sprintf(text, "stripe(1,2)");

    memset(text + len, ' ', n - len);
    text[n] = 0;
}

static int parse_made(make_text *make, unsigned n, struct layout_error *error, bool nest_only)
{
    cleanup(layout_freep) struct layout *layout = NULL;
    cleanup(nest_freep) struct nest *nest = NULL;
    cleanup(freep) char *text = malloc(256u << 10);

    make(text, n);
    return nest_only ? nest_parse(text, strlen(text), &nest, error)
                     : layout_parse(text, strlen(text), 0, &layout, error);
}

Test(notation, sixteen_levels_and_no_more)
{
    struct layout_error error;

    cr_expect_eq(parse_made(make_levels, 16, &error, true), 0, "%s", error.why);
    cr_expect_eq(parse_made(make_levels, 17, &error, true), -E2BIG);
    cr_expect_not_null(strstr(error.why, "nested deeper than 16 levels"), "%s", error.why);
}

Test(notation, four_thousand_and_ninety_six_falls_and_no_more)
{
    struct layout_error error;

    cr_expect_eq(parse_made(make_elements, 4096, &error, false), 0, "%s", error.why);
    cr_expect_eq(parse_made(make_elements, 4097, &error, false), -E2BIG);
    cr_expect_not_null(strstr(error.why, "more than 4096"), "%s", error.why);
    cr_expect_eq(parse_made(make_nodes, 4097, &error, false), -E2BIG);
}

Test(notation, sixty_four_kibibytes_and_no_more)
{
    struct layout_error error;

    cr_expect_eq(parse_made(make_long_text, 64 << 10, &error, false), 0, "%s", error.why);
    cr_expect_eq(parse_made(make_long_text, (64 << 10) + 1, &error, false), -E2BIG);
    cr_expect_eq(parse_made(make_long_text, 65 << 10, &error, false), -E2BIG);
    cr_expect_not_null(strstr(error.why, "at most 65536 bytes"), "%s", error.why);
}

Test(notation, a_layout_as_wide_as_the_volume)
{
    cleanup(layout_freep) struct layout *layout = NULL;
    struct layout_error error;

    cr_assert_eq(layout_parse("stripe(1M)", 10, 7, &layout, &error), 0);
    cr_expect_eq(layout->pattern->n_elements, 7);
    cr_expect_eq(layout->pattern->size, 7 << 20);
}

Test(notation, bytes_behind_a_nul_are_not_lost)
{
    cleanup(layout_freep) struct layout *layout = NULL;
    struct layout_error error;

    cr_expect_eq(layout_parse("stripe(1,2)\0x", 13, 0, &layout, &error), -EINVAL);
    cr_expect_eq(error.column, 12);
}

/* -- what bytes mean -- */

struct array_case {
    char text[96], want[96];
};

ParameterizedTestParameters(notation, arrays)
{
    static struct array_case rows[] = {
        { "shape=8192x8192 elem=8 type=f8 order=row header=512", "8192x8192 elem 8 f8 row header 512" },
        { "shape=8192x8192 type=<f8", "8192x8192 elem 8 <f8 row header 0" },
        { "type=c16, order=col, shape=3", "3 elem 16 c16 col header 0" },
        { " header=1K\n shape = 2x3x4 # bytes\n", "2x3x4 elem 1  row header 1024" },
        { "shape=10 type=S elem=24", "10 elem 24 S row header 0" },
        { "", "column 1: shape= is missing, as in shape=8192x8192 type=f8" },
        { "type=f8", "column 8: shape= is missing, as in shape=8192x8192 type=f8" },
        { "shape=8x0", "column 9: a dimension must be at least 1" },
        { "shape=8x", "column 9: expected a number, found the end" },
        { "shape=8 elem=4 type=f8", "column 21: f8 has 8 bytes, elem says 4" },
        { "shape=8 type=", "column 14: expected a type such as f8, >i4 or u1, found the end" },
        { "shape=8 type=>f8", "8 elem 8 >f8 row header 0" },
        { "shape=8 type=|V24 elem=24", "8 elem 24 |V24 row header 0" },
        { "shape=8 type=<U5", "8 elem 20 <U5 row header 0" },
        { "shape=8 type=>M8[25ns] header=1", "8 elem 8 >M8[25ns] row header 1" },
        { "shape=8 type=M8[ns", "column 16: expected shape=, elem=, type=, order= or header=, found '['" },
        { "shape=8 type=> f8", "column 15: a type follows its byte order at once, as in >f8" },
        { "shape=8 type=>", "column 15: expected a type such as f8, >i4 or u1, found the end" },
        { "shape=8 type=>#f8", "column 18: expected a type such as f8, >i4 or u1, found the end" },
        { "shape=4 type=zz", "column 14: zz is no type that numpy has, as f8, >i4, u1, c16, S20 and M8[ns] are" },
        { "shape=4 elem=3 type=<f3",
          "column 21: <f3 is no type that numpy has, as f8, >i4, u1, c16, S20 and M8[ns] are" },
        { "shape=4 type=f8[ns]",
          "column 14: f8[ns] is no type that numpy has, as f8, >i4, u1, c16, S20 and M8[ns] are" },
        { "shape=4 type=M8[xs]",
          "column 14: M8[xs] is no type that numpy has, as f8, >i4, u1, c16, S20 and M8[ns] are" },
        { "shape=4 type=O8", "column 14: O8 is no type that numpy has, as f8, >i4, u1, c16, S20 and M8[ns] are" },
        { "shape=4 type=float64", "4 elem 8 float64 row header 0" },
        { "shape=4 type=bool", "4 elem 1 bool row header 0" },
        { "shape=4 type=d", "4 elem 8 d row header 0" },
        { "shape=4 type=m8[generic]", "4 elem 8 m8[generic] row header 0" },
        { "shape=4 type=S7", "4 elem 7 S7 row header 0" },
        { "shape=4 type=f16", "4 elem 16 f16 row header 0" },
        { "shape=8 type=abcdefghijklmnop", "column 14: a type has at most 15 bytes" },
        { "shape=8 order=up", "column 15: expected row or col, found 'up'" },
        { "shape=8 shape=8", "column 9: shape is given twice" },
        { "shape=8 depth=3", "column 9: expected shape=, elem=, type=, order= or header=, found 'depth'" },
        { "shape=1G x 1G x 1G x 8", "column 7: the array reaches past byte 2^62" },
        { "shape=8 type=f99999999999999 elem=4", "column 14: f99999999999999 has 99999999999999 bytes, elem says 4" },
        { "shape=4 header=4T type=f8 elem=0", "column 32: the element size must be at least 1" },
    };

    return cr_make_param_array(struct array_case, rows, ARRAY_SIZE(rows));
}

ParameterizedTest(struct array_case *row, notation, arrays)
{
    struct layout_error error;
    struct array array;
    char type[LAYOUT_MAX_TYPE], found[256] = "";
    size_t at = 0;
    int r = layout_parse_array(row->text, strlen(row->text), &array, type, &error);

    if (r < 0) {
        snprintf(found, sizeof found, "column %zu: %s", error.column, error.why);
    } else {
        for (uint32_t i = 0; i < array.ndims; i++)
            at += (size_t) snprintf(found + at, sizeof found - at, "%s%" PRIu64, i > 0 ? "x" : "", array.size[i]);
        snprintf(found + at, sizeof found - at, " elem %" PRIu64 " %s %s header %" PRIu64, array.elem, type,
                 array.order == ARRAY_ROW_MAJOR ? "row" : "col", array.header);
    }
    cr_expect_str_eq(found, row->want, "'%s' is '%s'", row->text, found);
}

Test(notation, a_nul_is_no_byte_order)
{
    struct layout_error error;
    struct array array;
    char type[LAYOUT_MAX_TYPE];

    cr_expect_eq(layout_parse_array("shape=8 type=\0f8", 16, &array, type, &error), -EINVAL);
}

Test(notation, what_is_printed_of_an_array_is_read_again)
{
    static const char *const texts[] = { "shape=3x4 elem=8 type=>f8 order=col header=512",
                                         "shape=7 elem=24 order=row header=0" };

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        cleanup(freep) char *text = NULL;
        size_t len;
        FILE *out = open_memstream(&text, &len);
        struct layout_error error;
        struct array array;
        char type[LAYOUT_MAX_TYPE];

        cr_assert_eq(layout_parse_array(texts[i], strlen(texts[i]), &array, type, &error), 0);
        layout_print_array(out, &array, type);
        fclose(out);
        cr_expect_str_eq(text, texts[i]);
    }
}
