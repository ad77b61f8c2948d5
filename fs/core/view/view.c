/* SPDX-License-Identifier: MIT */
#include "fs/core/view/view.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>

#define WORD "element"

/* Runs are accessed together with the holes between them when all that is at most MAX_WASTE times as long as the runs,
 * or no longer than SMALL. */
#define MAX_WASTE 16
#define SMALL     (UINT64_C(16) << 10)

/* -- notation -- */

static size_t without_blanks(const char *text, size_t len)
{
    while (len > 0 && isspace((unsigned char) text[len - 1]))
        len--;
    return len;
}

/* Finds where in a text the layout ends that "element N" follows; len: nothing follows. */
static size_t split(const char *text, size_t len, const char **ret_number)
{
    size_t end = without_blanks(text, len), at = end, word = strlen(WORD);

    while (at > 0 && isdigit((unsigned char) text[at - 1]))
        at--;
    *ret_number = text + at;
    if (at == end)
        return len;
    at = without_blanks(text, at);
    if (at < word || memcmp(text + at - word, WORD, word) != 0)
        return len;
    return at - word;
}

PRINTF_LIKE(3, 4) static int refuse(struct layout_error *error, size_t column, const char *fmt, ...)
{
    va_list list;

    *error = (struct layout_error){ .column = column };
    va_start(list, fmt);
    vsnprintf(error->why, sizeof error->why, fmt, list);
    va_end(list);
    return -EINVAL;
}

static int choose(struct view *view, const char *number, size_t layout_len, size_t len, struct layout_error *error)
{
    uint32_t n = view->layout->pattern->n_elements;
    size_t column = (size_t) (number - view->text) + 1;
    unsigned long long chosen = 0;

    if (layout_len == len && n > 1)
        return refuse(error, len + 1, "a view is one element: say which, as in \"... element %u\", from 0 to %u", n - 1,
                      n - 1);
    if (layout_len < len) {
        errno = 0;
        chosen = strtoull(number, NULL, 10);
        if (errno != 0 || chosen >= n)
            return refuse(error, column, "no such element: there are %u, numbered from 0", n);
    }
    view->element = (uint32_t) chosen;
    view->nest = pattern_element(view->layout->pattern, view->element);
    if (view->nest->size == 0)
        return refuse(error, column, "no byte belongs to element %u: choose another", view->element);
    return 0;
}

static void view_free(struct view *view)
{
    layout_free(view->layout);
    free(view->text);
    free(view);
}

int view_parse(const char *text, size_t len, uint32_t n_disks, struct view **ret_view, struct layout_error *ret_error)
{
    struct view *view = calloc(1, sizeof *view);
    const char *number;
    size_t layout_len;
    int r = view == NULL ? -ENOMEM : 0;

    if (r < 0)
        return r;
    atomic_init(&view->refs, 1);
    *ret_error = (struct layout_error){ 0 };
    view->text = strndup(text, len);
    r = view->text == NULL ? -ENOMEM : 0;
    if (r == 0) {
        layout_len = split(view->text, len, &number);
        r = layout_parse(view->text, layout_len, MAX(n_disks, 1), &view->layout, ret_error);
        if (r == 0)
            r = choose(view, number, layout_len, len, ret_error);
    }
    if (r < 0) {
        view_free(view);
        return r;
    }
    *ret_view = view;
    return 0;
}

struct view *view_ref(struct view *view)
{
    atomic_fetch_add(&view->refs, 1);
    return view;
}

void view_put(struct view *view)
{
    if (view != NULL && atomic_fetch_sub(&view->refs, 1) == 1)
        view_free(view);
}

size_t view_bytes(const struct view *view)
{
    return sizeof *view + strlen(view->text) + 1 + layout_bytes(view->layout);
}

/* -- arithmetic -- */

uint64_t view_len(const struct view *view, uint64_t file_size)
{
    return nest_rank(view->nest, file_size);
}

int view_file_size(const struct view *view, uint64_t len, uint64_t *ret_file_size)
{
    uint64_t last;

    if (len == 0) {
        *ret_file_size = 0;
        return 0;
    }
    if (len > view->nest->size)
        return -EFBIG;
    last = nest_select(view->nest, len - 1);
    if (last >= FALLS_LIMIT)
        return -EFBIG;
    *ret_file_size = last + 1;
    return 0;
}

static bool is_worth_it(uint64_t len, uint64_t span)
{
    return span <= VIEW_MAX_SPAN && (span <= SMALL || span / MAX_WASTE <= len);
}

int view_next(const struct view *view, uint64_t off, uint64_t len, struct view_piece *ret_piece)
{
    struct view_piece piece;
    uint64_t run, end;

    if (off >= view->nest->size)
        return -EFBIG;
    piece.file_off = nest_select_run(view->nest, off, &run);
    if (piece.file_off >= FALLS_LIMIT)
        return -EFBIG;
    piece.len = piece.span = MIN(run, len);
    len = MIN(len, MIN(VIEW_MAX_SPAN, view->nest->size - off));
    /* A long run is a piece of its own. Of short ones a piece has as many as are worth one access. */
    for (uint64_t n = len; piece.len < SMALL && n > piece.len; n /= 2) {
        if (view_file_size(view, off + n, &end) < 0 || !is_worth_it(n, end - piece.file_off))
            continue;
        piece.len = n;
        piece.span = end - piece.file_off;
    }
    if (piece.file_off + piece.span > FALLS_LIMIT)
        return -EFBIG;
    *ret_piece = piece;
    return 0;
}
