/* SPDX-License-Identifier: MIT */
/* Any bytes as a layout or an array: parse, print, parse again; where it is one, map and runs must agree with each
 * other. */
#include "layout/layout.h"
#include "layout/map.h"
#include "test/fuzz/fuzz.h"
#include "test/support/texts.h"

#include <string.h>

static void check_print(const struct layout *layout)
{
    cleanup(freep) char *text = printed_layout(layout);
    cleanup(freep) char *text_again = NULL;
    cleanup(layout_freep) struct layout *again = NULL;
    struct layout_error error;
    int r = layout_parse(text, strlen(text), 0, &again, &error);

    if (r == -E2BIG) /* numbers printed in full may be longer than they were typed */
        return;
    REQUIRE(r == 0);
    text_again = printed_layout(again);
    REQUIRE(strcmp(text, text_again) == 0);
}

static void check_map(const struct pattern *pattern)
{
    for (unsigned power = 0; power <= 62; power++) {
        uint64_t x = UINT64_C(1) << power, back;
        struct place place, in_run;
        struct runs runs;
        struct run run;

        REQUIRE(pattern_map(pattern, x, &place) == 0);
        REQUIRE(pattern_unmap(pattern, place.element, place.sub_off, &back) == 0 && back == x);
        REQUIRE(runs_init(&runs, pattern, x, MIN(x, FALLS_LIMIT - x)) == 0);
        for (unsigned i = 0; i < 8 && runs_next(&runs, &run); i++) {
            REQUIRE(run.file_off == x && run.len > 0);
            REQUIRE(pattern_map(pattern, run.file_off + run.len - 1, &in_run) == 0);
            REQUIRE(in_run.element == run.element && in_run.sub_off == run.sub_off + run.len - 1);
            x += run.len;
        }
    }
}

/* The same bytes as what the bytes of a file mean. */
static void check_array(const char *text, size_t len)
{
    struct layout_error error = { 0 };
    char type[LAYOUT_MAX_TYPE];
    struct array array;
    uint64_t bytes;

    if (layout_parse_array(text, len, &array, type, &error) < 0) {
        REQUIRE(error.column > 0 && error.column <= len + 1 && error.why[0] != 0);
        return;
    }
    REQUIRE(array_bytes(&array, &bytes) == 0 && memchr(type, 0, sizeof type) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup(layout_freep) struct layout *layout = NULL;
    struct layout_error error = { 0 };
    int r = layout_parse((const char *) data, size, 0, &layout, &error);

    check_array((const char *) data, size);
    if (r < 0) {
        REQUIRE(layout == NULL && error.column > 0 && error.why[0] != 0);
        REQUIRE(error.column <= size + 1);
        return 0;
    }
    check_print(layout);
    if (layout->pattern != NULL)
        check_map(layout->pattern);
    return 0;
}
