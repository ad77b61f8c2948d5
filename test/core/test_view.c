/* SPDX-License-Identifier: MIT */
/* Views as arithmetic: what pieces an access is made of, and how long a view is. */
#include "fs/core/view/view.h"
#include "layout/map.h"
#include "test/support/oracle.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <malloc.h>
#include <string.h>

struct text_case {
    char text[96];
    int r;
    uint32_t column;
    uint64_t file_size, len; /* of the file, and of the view then */
};

ParameterizedTestParameters(view, texts)
{
    static struct text_case rows[] = {
        { "one", 0, 0, 10, 10 },
        { "one element 0", 0, 0, 10, 10 },
        { "one element 1", -EINVAL, 13, 0, 0 },
        { "stripe(4,2)", -EINVAL, 12, 0, 0 },
        { "stripe(4,2) element 1", 0, 0, 10, 4 },
        { "stripe(4,2)element 1  ", 0, 0, 17, 8 },
        { "stripe(4,2) disp 2 element 0", 0, 0, 5, 3 },
        { "stripe(4,2) element 2", -EINVAL, 21, 0, 0 },
        { "stripe(4,2) element 99999999999999999999", -EINVAL, 21, 0, 0 },
        { "stripe(4,2) element", -EINVAL, 13, 0, 0 },
        { "stripe(4,2) elem 1", -EINVAL, 13, 0, 0 },
        { "{(0,1,4,2)} element 0", -ERANGE, 0, 0, 0 },
        { "{(0,3,4,1);()} element 1", -EINVAL, 24, 0, 0 },
        { "stripe(4) element 2", 0, 0, 12, 4 }, /* it has as many elements as there are disks */
        { "", -EINVAL, 1, 0, 0 },
        { "element 0", -EINVAL, 1, 0, 0 },
        { "7", -EINVAL, 1, 0, 0 },
    };

    return cr_make_param_array(struct text_case, rows, ARRAY_SIZE(rows));
}

ParameterizedTest(struct text_case *row, view, texts)
{
    struct layout_error error;
    struct view *view = NULL;
    int r = view_parse(row->text, strlen(row->text), 3, &view, &error);

    cr_expect_eq(r, row->r, "'%s' is %d: %s", row->text, r, error.why);
    if (r == 0)
        cr_expect_eq(view_len(view, row->file_size), row->len, "'%s' of %" PRIu64 " bytes", row->text, row->file_size);
    else if (row->column > 0)
        cr_expect_eq(error.column, row->column, "'%s': column %zu: %s", row->text, error.column, error.why);
    view_put(view);
}

/* Lists the bytes of the file that the view has; how many. */
static uint64_t bytes_of(const struct oracle *oracle, uint32_t element, uint64_t file_size, uint64_t byte[],
                         uint64_t room)
{
    uint64_t n = 0;

    for (uint64_t x = 0; x < file_size && n < room; x++)
        if (oracle_map(oracle, x).element == element)
            byte[n++] = x;
    return n;
}

static struct view *view_of(const struct oracle *oracle, uint32_t element)
{
    static char text[ORACLE_MAX_TEXT + 32];
    struct layout_error error;
    struct view *view = NULL;
    int r;

    snprintf(text, sizeof text, "%s element %u", oracle->text, element);
    r = view_parse(text, strlen(text), 1, &view, &error);
    cr_assert_eq(r, 0, "%s: %s", text, error.why);
    return view;
}

#define ROOM 20000

static void check_pieces(const struct view *view, const uint64_t byte[], uint64_t off, uint64_t len, uint64_t seed)
{
    while (len > 0) {
        struct view_piece piece;

        cr_assert_eq(view_next(view, off, len, &piece), 0);
        cr_assert(piece.len > 0 && piece.len <= len, RNG_SEED, seed);
        cr_assert_eq(piece.file_off, byte[off], RNG_SEED, seed);
        cr_assert_eq(piece.file_off + piece.span, byte[off + piece.len - 1] + 1, RNG_SEED, seed);
        cr_assert(piece.span == piece.len || piece.span <= VIEW_MAX_SPAN, RNG_SEED, seed);
        off += piece.len;
        len -= piece.len;
    }
}

Test(view, pieces_are_the_bytes_that_the_oracle_has)
{
    static struct oracle oracle;
    static uint64_t byte[ROOM];

    for (struct rng rng = rng_from_env(300); rng_next(&rng);) {
        struct view *view;
        uint32_t element;
        uint64_t n, size, file_size;

        oracle_random(&oracle, &rng);
        element = (uint32_t) rng_below(&rng, oracle.n_elements);
        if (oracle.bytes[element] == 0)
            continue;
        view = view_of(&oracle, element);
        n = bytes_of(&oracle, element, oracle.disp + 3 * oracle.size, byte, ROOM);
        for (int i = 0; i < 20; i++) {
            uint64_t off = rng_below(&rng, n), len = rng_between(&rng, 1, n - off);

            check_pieces(view, byte, off, len, rng.seed);
            cr_assert_eq(view_file_size(view, off + len, &file_size), 0);
            cr_assert_eq(file_size, byte[off + len - 1] + 1, RNG_SEED, rng.seed);
            size = rng_below(&rng, oracle.disp + 3 * oracle.size);
            cr_assert_eq(view_len(view, size), bytes_of(&oracle, element, size, byte, ROOM), RNG_SEED, rng.seed);
        }
        (void) bytes_of(&oracle, element, oracle.disp + 3 * oracle.size, byte, ROOM);
        view_put(view);
    }
}

Test(view, ends_where_files_end)
{
    struct layout_error error;
    struct view_piece piece;
    struct view *view;
    uint64_t size;

    cr_assert_eq(view_parse("stripe(4,2) element 1", 21, 1, &view, &error), 0);
    cr_expect_eq(view_file_size(view, 0, &size), 0);
    cr_expect_eq(size, 0);
    cr_expect_eq(view_file_size(view, FALLS_LIMIT / 2, &size), 0);
    cr_expect_eq(view_file_size(view, FALLS_LIMIT, &size), -EFBIG);
    cr_expect_eq(view_file_size(view, UINT64_MAX, &size), -EFBIG);
    cr_expect_eq(view_next(view, UINT64_MAX, 1, &piece), -EFBIG);
    cr_expect_eq(view_next(view, FALLS_LIMIT, 1, &piece), -EFBIG);
    view_put(view);
}

/* One access crosses holes where that is cheap, and not where it would become a thousand times as long. */
Test(view, crosses_small_holes_only)
{
    static const struct {
        const char *text;
        uint64_t len, piece_len, piece_span;
    } rows[] = {
        { "stripe(8,2) element 0", 4096, 4096, 8184 },
        { "stripe(1M,2) element 0", 4 << 20, 1 << 20, 1 << 20 },
        { "stripe(64K,2) element 0", 4 << 20, 64 << 10, 64 << 10 },
        { "{(0,7,1048576,1);(8,1048575,1048576,1)} element 0", 4096, 8, 8 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct layout_error error;
        struct view_piece piece;
        struct view *view;

        cr_assert_eq(view_parse(rows[i].text, strlen(rows[i].text), 1, &view, &error), 0, "%s", error.why);
        cr_assert_eq(view_next(view, 0, rows[i].len, &piece), 0);
        cr_expect_eq(piece.len, rows[i].piece_len, "%s: %" PRIu64, rows[i].text, piece.len);
        cr_expect_eq(piece.span, rows[i].piece_span, "%s: %" PRIu64, rows[i].text, piece.span);
        view_put(view);
    }
}

/* What a user is charged for a view is about what malloc takes for it. It is measured with many views, so that what
 * malloc has at hand makes no difference. */
Test(view, its_bytes_are_those_that_malloc_gave)
{
    static const char *const texts[] = {
        "stripe(1M,4) element 2",
        "stripe(1M,1024) element 5",
        "array(shape=512x512x512, elem=8, dist=(block,cyclic(3),*), grid=4x8x1) element 7",
        "var(1,2,3,4,5,6,7,8,9) element 3",
        "{(0,1,60,1);(2,3,60,1),(6,59,60,1);(4,5,60,1)} disp 12 element 1",
    };
    static struct view *view[100];

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        size_t before = mallinfo2().uordblks + mallinfo2().hblkhd, taken, bytes;
        struct layout_error error;

        for (size_t k = 0; k < ARRAY_SIZE(view); k++)
            cr_assert_eq(view_parse(texts[i], strlen(texts[i]), 4, &view[k], &error), 0, "%s: %s", texts[i], error.why);
        taken = mallinfo2().uordblks + mallinfo2().hblkhd - before;
        bytes = ARRAY_SIZE(view) * view_bytes(view[0]);
        if (taken == 0)
            cr_skip_test("a sanitizer's malloc does not tell");
        cr_expect(100 * bytes >= 75 * taken && 100 * bytes <= 115 * taken, "%s: %zu of %zu bytes", texts[i], bytes,
                  taken);
        for (size_t k = 0; k < ARRAY_SIZE(view); k++)
            view_put(view[k]);
    }
}
