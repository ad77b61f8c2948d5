/* SPDX-License-Identifier: MIT */
#include "fs/ctl/think/pattern_read.h"

#include "fs/core/view/view.h"
#include "fs/learn/fold.h"
#include "ioctl/tile.h"
#include "layout/compose.h"
#include "layout/section.h"

#define OF_VIEW    " of view "
#define SECTION    " section="
#define MAX_PIECES 65536 /* of a list */

/* How a set lies in the file: tiles of it, from a byte on. */
struct tile {
    uint64_t disp, extent, skip, bytes; /* bytes 0: the set itself, once */
};

/* Reads a number that ends where something else begins. */
static bool take_number(const char **text, uint64_t *ret_value)
{
    char *end;

    errno = 0;
    *ret_value = strtoull(*text, &end, 10);
    if (end == *text || errno != 0 || **text < '0' || **text > '9')
        return false;
    *text = end;
    return true;
}

static bool take_word(const char **text, const char *word)
{
    size_t len = strlen(word);

    if (strncmp(*text, word, len) != 0)
        return false;
    *text += len;
    return true;
}

/* Reads "NAME=NUMBER " where it stands. False: it stands there, but is none. */
static bool take_field(const char **text, const char *name, uint64_t *ret_value)
{
    return !take_word(text, name) || (take_number(text, ret_value) && take_word(text, " "));
}

/* -- sections -- */

static bool take_range(const char **text, struct range *ret_range)
{
    return take_number(text, &ret_range->lower) && take_word(text, ":") && take_number(text, &ret_range->upper) &&
           take_word(text, ":") && take_number(text, &ret_range->stride);
}

static int read_section(const char *text, struct nest **ret_nest)
{
    const char *at = strstr(text, SECTION);
    struct range section[ARRAY_MAX_DIMS];
    struct layout_error error;
    char type[LAYOUT_MAX_TYPE];
    struct array array;

    if (at == NULL || layout_parse_array(text, (size_t) (at - text), &array, type, &error) < 0)
        return -EINVAL;
    at += strlen(SECTION);
    for (uint32_t i = 0; i < array.ndims; i++)
        if ((i > 0 && !take_word(&at, ",")) || !take_range(&at, &section[i]))
            return -EINVAL;
    return *at == 0 ? section_new(&array, section, ret_nest) : -EINVAL;
}

/* -- lists -- */

/* Reads "(OFF,LEN),..."; those that touch become one. */
static int read_pieces(const char *text, struct segment segment[], size_t *ret_n)
{
    size_t n = 0;

    do {
        uint64_t off, len, end;

        if (!take_word(&text, "(") || !take_number(&text, &off) || !take_word(&text, ",") ||
            !take_number(&text, &len) || !take_word(&text, ")"))
            return -EINVAL;
        if (len == 0 || add_overflows(off, len, &end) || end > FALLS_LIMIT || (n > 0 && off < segment[n - 1].end))
            return -EINVAL;
        if (n > 0 && off == segment[n - 1].end)
            segment[n - 1].end = end;
        else if (n == MAX_PIECES)
            return -E2BIG;
        else
            segment[n++] = (struct segment){ off, end };
    } while (take_word(&text, ","));
    *ret_n = n;
    return *text == 0 ? 0 : -EINVAL;
}

static int read_list(const char *text, struct nest **ret_nest)
{
    cleanup(freep) struct segment *segment = malloc(MAX_PIECES * sizeof *segment);
    cleanup(fold_freep) struct fold *fold = NULL;
    size_t n = 0;
    int r = segment == NULL ? -ENOMEM : read_pieces(text, segment, &n);

    if (r == 0)
        r = fold_new(segment, n, MAX_PIECES, &fold);
    return r == 0 ? fold_nest(fold, ret_nest) : r;
}

/* -- tiles -- */

static int place(struct nest **nest, const struct tile *tile)
{
    struct nest *tiled = NULL;
    int r = 0;

    if (tile->bytes > 0) {
        r = nest_tile(*nest, tile->extent, tile->skip, tile->bytes, &tiled);
        if (r < 0)
            return r;
        nest_free(*nest);
        *nest = tiled;
    }
    return nest_shift(*nest, tile->disp);
}

static int read_tile(const char *text, struct nest **ret_nest)
{
    cleanup(nest_freep) struct nest *nest = NULL;
    struct layout_error error;
    struct tile tile = { 0 };
    int r;

    if (!take_field(&text, "disp=", &tile.disp) || !take_field(&text, "extent=", &tile.extent) ||
        !take_field(&text, "skip=", &tile.skip) || !take_field(&text, "bytes=", &tile.bytes))
        return -EINVAL;
    r = take_word(&text, "pieces=") ? read_list(text, &nest) : nest_parse(text, strlen(text), &nest, &error);
    if (r == 0)
        r = place(&nest, &tile);
    if (r == 0)
        *ret_nest = steal(nest);
    return r;
}

/* -- views -- */

static int read_view(const char *text, uint32_t n_disks, struct nest **ret_nest)
{
    struct layout_error error;
    struct view *view;
    int r = view_parse(text, strlen(text), n_disks, &view, &error);

    if (r < 0)
        return r;
    r = nest_cut(view->nest, 0, FALLS_LIMIT, ret_nest);
    view_put(view);
    return r;
}

static int read_set(const char *text, struct nest **ret_nest)
{
    return strncmp(text, "shape=", 6) == 0 ? read_section(text, ret_nest) : read_tile(text, ret_nest);
}

static bool is_set(const char *text)
{
    return strncmp(text, "shape=", 6) == 0 || strncmp(text, "disp=", 5) == 0;
}

/* A set of the view's bytes. */
static int read_set_of_view(const char *set, const char *view, uint32_t n_disks, struct nest **ret_nest)
{
    cleanup(nest_freep) struct nest *inner = NULL, *outer = NULL;
    int r = read_set(set, &inner);

    if (r == 0)
        r = read_view(view, n_disks, &outer);
    return r == 0 ? nest_compose(outer, inner, ret_nest) : r;
}

int pattern_read(const char *text, uint32_t n_disks, struct nest **ret_nest)
{
    const char *view = strstr(text, OF_VIEW);
    cleanup(freep) char *set = NULL;

    if (!is_set(text))
        return read_view(text, n_disks, ret_nest);
    if (view == NULL)
        return read_set(text, ret_nest);
    set = strndup(text, (size_t) (view - text));
    return set == NULL ? -ENOMEM : read_set_of_view(set, view + strlen(OF_VIEW), n_disks, ret_nest);
}
