/* SPDX-License-Identifier: MIT */
/* Any two sets, or any two layouts, with a line feed between them: what they have in common is the same seen from
 * either side, and lies in both. */
#include "layout/gather.h"
#include "layout/layout.h"
#include "layout/overlap.h"
#include "test/fuzz/fuzz.h"

#include <string.h>

static void check_overlap(const struct nest *a, const struct nest *b, const struct overlap *ab,
                          const struct overlap *ba)
{
    uint64_t rank_a = nest_rank(a, ab->lo), rank_b = nest_rank(b, ab->lo), step;

    REQUIRE(ab->size == ba->size && ab->runs == ba->runs);
    REQUIRE(ab->on_a->size == ab->size && ab->on_b->size == ab->size);
    step = ab->size / 37 + 1;
    for (uint64_t k = 0; k < ab->size; k += step) {
        uint64_t x = nest_select(ab->common, k) + ab->lo;

        REQUIRE(nest_select(ba->common, k) + ba->lo == x);
        REQUIRE(nest_contains(a, x) && nest_contains(b, x));
        REQUIRE(nest_rank(a, x) - rank_a == nest_select(ab->on_a, k));
        REQUIRE(nest_rank(b, x) - rank_b == nest_select(ab->on_b, k));
    }
}

static void try_nests(const char *text, size_t len_a, size_t len_b)
{
    cleanup(nest_freep) struct nest *a = NULL;
    cleanup(nest_freep) struct nest *b = NULL;
    cleanup(nest_freep) struct nest *cut = NULL;
    cleanup(overlap_done) struct overlap ab = { 0 };
    cleanup(overlap_done) struct overlap ba = { 0 };
    struct layout_error error;
    uint64_t middle;

    if (nest_parse(text, len_a, &a, &error) < 0 || nest_parse(text + len_a + 1, len_b, &b, &error) < 0)
        return;
    if (overlap_of_nests(a, b, 0, FALLS_LIMIT, &ab) == 0 && overlap_of_nests(b, a, 0, FALLS_LIMIT, &ba) == 0)
        check_overlap(a, b, &ab, &ba);
    if (a->size == 0)
        return;
    middle = nest_select(a, a->size / 2);
    if (nest_cut(a, middle / 2, middle + 1, &cut) == 0)
        REQUIRE(cut->size == nest_rank(a, middle + 1) - nest_rank(a, middle / 2));
}

static void try_layouts(const char *text, size_t len_a, size_t len_b)
{
    cleanup(layout_freep) struct layout *a = NULL;
    cleanup(layout_freep) struct layout *b = NULL;
    cleanup(overlap_done) struct overlap ab = { 0 };
    cleanup(overlap_done) struct overlap ba = { 0 };
    struct layout_error error;
    uint32_t i, j;

    if (layout_parse(text, len_a, 3, &a, &error) < 0 || layout_parse(text + len_a + 1, len_b, 5, &b, &error) < 0)
        return;
    i = a->pattern->n_elements / 2;
    j = b->pattern->n_elements / 3;
    if (overlap_of_elements(a->pattern, i, b->pattern, j, &ab) == 0 &&
        overlap_of_elements(b->pattern, j, a->pattern, i, &ba) == 0)
        check_overlap(pattern_element(a->pattern, i), pattern_element(b->pattern, j), &ab, &ba);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *) data;
    const uint8_t *feed = size > 0 ? memchr(data, '\n', size) : NULL;
    size_t len_a;

    if (feed == NULL)
        return 0;
    len_a = (size_t) (feed - data);
    if (*text == '{')
        try_nests(text, len_a, size - len_a - 1);
    try_layouts(text, len_a, size - len_a - 1);
    return 0;
}
