/* SPDX-License-Identifier: MIT */
#include "layout/scan.h"

#include <string.h>

static int parse_stripe(struct scanner *scanner, struct layout *layout)
{
    size_t at;
    int r = scan_positive(scanner, "the stripe unit", &layout->unit);

    if (r == 0 && scan_accept(scanner, ',')) {
        scan_blanks(scanner);
        at = scanner->at;
        r = scan_positive(scanner, "the number of elements", &layout->n);
        if (r == 0 && layout->n > FALLS_MAX_NODES)
            r = scan_fail(scanner, -E2BIG, at, "more than %d elements", FALLS_MAX_NODES);
    }
    return r;
}

static int parse_var(struct scanner *scanner, struct layout *layout)
{
    do {
        int r;

        if (layout->n == FALLS_MAX_NODES)
            return scan_fail(scanner, -E2BIG, scanner->at, "more than %d elements", FALLS_MAX_NODES);
        if (!array_grow(layout->var_unit, layout->n))
            return scan_out_of_memory(scanner);
        r = scan_positive(scanner, "a unit", &layout->var_unit[layout->n++]);
        if (r < 0)
            return r;
    } while (scan_accept(scanner, ','));
    return 0;
}

static int parse_twod(struct scanner *scanner, struct layout *layout)
{
    int r = scan_positive(scanner, "the stripe unit", &layout->unit);

    if (r == 0)
        r = scan_expect(scanner, ',');
    if (r == 0)
        r = scan_positive(scanner, "the number of groups", &layout->groups);
    if (r == 0)
        r = scan_expect(scanner, ',');
    return r < 0 ? r : scan_positive(scanner, "the factor", &layout->factor);
}

int scan_extents(struct scanner *scanner, const char *what, uint64_t extent[], uint32_t *ret_n)
{
    uint32_t n = 0;

    do {
        int r;

        if (n == ARRAY_MAX_DIMS)
            return scan_fail(scanner, -E2BIG, scanner->at, "more than %d dimensions", ARRAY_MAX_DIMS);
        r = scan_positive(scanner, what, &extent[n++]);
        if (r < 0)
            return r;
    } while (scan_accept(scanner, 'x'));
    *ret_n = n;
    return 0;
}

/* Parses (block|cyclic[(k)]|*, ...). */
static int parse_dists(struct scanner *scanner, struct dist dist[], uint32_t *ret_n)
{
    uint32_t n = 0;
    int r = scan_expect(scanner, '(');

    if (r < 0)
        return r;
    do {
        if (n == ARRAY_MAX_DIMS)
            return scan_fail(scanner, -E2BIG, scanner->at, "more than %d dimensions", ARRAY_MAX_DIMS);
        if (scan_accept(scanner, '*')) {
            dist[n].kind = DIST_WHOLE;
        } else if (scan_accept_word(scanner, "block")) {
            dist[n].kind = DIST_BLOCK;
        } else if (scan_accept_word(scanner, "cyclic")) {
            dist[n].kind = DIST_CYCLIC;
            dist[n].k = 1;
            if (scan_accept(scanner, '(')) {
                r = scan_positive(scanner, "k of cyclic(k)", &dist[n].k);
                if (r == 0)
                    r = scan_expect(scanner, ')');
            }
        } else {
            r = scan_fail_expected(scanner, "block, cyclic, cyclic(k) or *");
        }
        if (r < 0)
            return r;
        n++;
    } while (scan_accept(scanner, ','));
    *ret_n = n;
    return scan_expect(scanner, ')');
}

int scan_order(struct scanner *scanner, enum array_order *ret_order)
{
    if (scan_accept_word(scanner, "row"))
        *ret_order = ARRAY_ROW_MAJOR;
    else if (scan_accept_word(scanner, "col"))
        *ret_order = ARRAY_COLUMN_MAJOR;
    else
        return scan_fail_expected(scanner, "row or col");
    return 0;
}

enum array_key { KEY_SHAPE, KEY_ELEM, KEY_ORDER, KEY_DIST, KEY_GRID, N_KEYS };

static const char *const array_key_name[N_KEYS] = { "shape", "elem", "order", "dist", "grid" };

/* Which keys of one array(...) were given, and where the value of each starts in the text. */
struct array_keys {
    bool seen[N_KEYS];
    size_t at[N_KEYS];
    uint32_t n_dists, n_grid;
    uint64_t grid[ARRAY_MAX_DIMS];
};

static int parse_array_key(struct scanner *scanner, struct dist_array *dist, struct array_keys *keys)
{
    unsigned key;
    int r =
        scan_key(scanner, array_key_name, N_KEYS, "shape=, elem=, order=, dist= or grid=", keys->seen, keys->at, &key);

    if (r < 0)
        return r;
    switch ((enum array_key) key) {
    case KEY_SHAPE:
        return scan_extents(scanner, "a dimension", dist->array.size, &dist->array.ndims);
    case KEY_ELEM:
        return scan_positive(scanner, "the element size", &dist->array.elem);
    case KEY_ORDER:
        return scan_order(scanner, &dist->array.order);
    case KEY_DIST:
        return parse_dists(scanner, dist->dist, &keys->n_dists);
    case KEY_GRID:
    case N_KEYS:
        break;
    }
    return scan_extents(scanner, "a grid dimension", keys->grid, &keys->n_grid);
}

/* Checks that shape, distribution and grid speak of the same dimensions, and finds the number of elements. */
static int check_array(struct scanner *scanner, struct layout *layout, const struct array_keys *keys, size_t start)
{
    struct dist_array *dist = &layout->array;
    uint32_t n = dist->array.ndims;
    uint64_t bytes;

    if (!keys->seen[KEY_SHAPE] || !keys->seen[KEY_DIST])
        return scan_fail(scanner, -EINVAL, start,
                         "array needs shape= and dist=, as in array(shape=8x8, dist=(block,*), grid=2x1)");
    if (keys->n_dists != n)
        return scan_fail(scanner, -EINVAL, keys->at[KEY_DIST], "dist has %" PRIu32 " dimensions, shape has %" PRIu32,
                         keys->n_dists, n);
    if (keys->seen[KEY_GRID] && keys->n_grid != n)
        return scan_fail(scanner, -EINVAL, keys->at[KEY_GRID], "grid has %" PRIu32 " dimensions, shape has %" PRIu32,
                         keys->n_grid, n);
    layout->n = 1;
    for (uint32_t i = 0; i < n; i++) {
        if (!keys->seen[KEY_GRID] && dist->dist[i].kind != DIST_WHOLE)
            return scan_fail(scanner, -EINVAL, keys->at[KEY_DIST], "a divided dimension needs grid=, as in grid=2x2");
        dist->dist[i].grid = keys->seen[KEY_GRID] ? keys->grid[i] : 1;
        if (dist->dist[i].kind == DIST_WHOLE && dist->dist[i].grid > 1)
            return scan_fail(scanner, -EINVAL, keys->at[KEY_GRID],
                             "dimension %" PRIu32 " is not divided (*): its grid must be 1, not %" PRIu64, i,
                             dist->dist[i].grid);
        if (mul_overflows(layout->n, dist->dist[i].grid, &layout->n) || layout->n > FALLS_MAX_NODES)
            return scan_fail(scanner, -E2BIG, keys->at[KEY_GRID], "more than %d elements", FALLS_MAX_NODES);
    }
    if (array_bytes(&dist->array, &bytes) < 0)
        return scan_fail(scanner, -EOVERFLOW, keys->at[KEY_SHAPE], "the array reaches past byte 2^62");
    return 0;
}

static int parse_array(struct scanner *scanner, struct layout *layout, size_t start)
{
    struct array_keys keys = { 0 };

    layout->array.array.elem = 1;
    do {
        int r = parse_array_key(scanner, &layout->array, &keys);

        if (r < 0)
            return r;
    } while (scan_accept(scanner, ','));
    return check_array(scanner, layout, &keys, start);
}

static int parse_named(struct scanner *scanner, struct layout *layout)
{
    static const char *const name[] = {
        [LAYOUT_ONE] = "one",   [LAYOUT_STRIPE] = "stripe", [LAYOUT_VAR] = "var",
        [LAYOUT_TWOD] = "twod", [LAYOUT_ARRAY] = "array",
    };
    unsigned kind = 0;
    size_t start;
    int r;

    scan_blanks(scanner);
    start = scanner->at;
    while (kind < ARRAY_SIZE(name) && !scan_accept_word(scanner, name[kind]))
        kind++;
    if (kind == ARRAY_SIZE(name))
        return scan_fail_expected(scanner, "one, stripe, var, twod, array or {");
    layout->kind = (enum layout_kind) kind;
    if (layout->kind == LAYOUT_ONE) {
        layout->n = 1;
        return 0;
    }
    r = scan_expect(scanner, '(');
    if (r < 0)
        return r;
    if (layout->kind == LAYOUT_STRIPE)
        r = parse_stripe(scanner, layout);
    else if (layout->kind == LAYOUT_VAR)
        r = parse_var(scanner, layout);
    else if (layout->kind == LAYOUT_TWOD)
        r = parse_twod(scanner, layout);
    else
        r = parse_array(scanner, layout, start);
    return r < 0 ? r : scan_accept(scanner, ')') ? 0 : scan_fail_expected(scanner, "',' or ')'");
}

/* Stores the bytes of one period of a layout made of units; true when they are more than FALLS_LIMIT. The parser has
 * refused units of 0. */
static bool named_size_overflows(const struct layout *layout, uint64_t *ret_size)
{
    uint64_t size = layout->unit;

    if (layout->kind == LAYOUT_VAR) {
        size = 0;
        for (uint64_t i = 0; i < layout->n; i++)
            if (add_overflows(size, layout->var_unit[i], &size) || size > FALLS_LIMIT)
                return true;
    } else if (layout->kind == LAYOUT_TWOD || layout->kind == LAYOUT_STRIPE) {
        if (mul_overflows(size, MAX(layout->n, 1), &size) ||
            (layout->kind == LAYOUT_TWOD && mul_overflows(size, layout->factor, &size)))
            return true;
    }
    *ret_size = size;
    return size > FALLS_LIMIT;
}

static struct part *named_element(struct draft *draft, const struct layout *layout, uint32_t i)
{
    switch (layout->kind) {
    case LAYOUT_STRIPE:
        return dist_stripe(draft, layout->unit, i);
    case LAYOUT_VAR:
        return dist_var(draft, layout->var_unit, i);
    case LAYOUT_TWOD:
        return dist_twod(draft, layout->unit, MIN(layout->groups, layout->n), layout->factor, (uint32_t) layout->n, i);
    case LAYOUT_ARRAY:
        return dist_array_element(draft, &layout->array, i);
    case LAYOUT_ONE:
    case LAYOUT_FALLS:
        break;
    }
    return dist_stripe(draft, 1, 0);
}

static int build_named(struct scanner *scanner, struct layout *layout, size_t start)
{
    struct part **list;
    uint64_t size;

    if (named_size_overflows(layout, &size))
        return scan_fail(scanner, -EOVERFLOW, start, "one period of this layout is longer than 2^62 bytes");
    if (layout->n == 0)
        return 0;
    list = draft_alloc(&scanner->draft, layout->n * sizeof(struct part *));
    if (list == NULL)
        return scan_out_of_memory(scanner);
    for (uint32_t i = 0; i < layout->n; i++)
        list[i] = named_element(&scanner->draft, layout, i);
    return scan_build_pattern(scanner, layout, list, (uint32_t) layout->n, start);
}

/* -- disp, on, copies -- */

/* Appends a disk to the layout's list. A disk may be named again: two places of the list then lie on it. */
static int add_disk(struct scanner *scanner, struct layout *layout, uint32_t disk, size_t at)
{
    if (layout->n_disks == FALLS_MAX_NODES)
        return scan_fail(scanner, -E2BIG, at, "more than %d disks", FALLS_MAX_NODES);
    if (!array_grow(layout->disk, layout->n_disks))
        return scan_out_of_memory(scanner);
    layout->disk[layout->n_disks++] = disk;
    return 0;
}

/* Parses a list of disks, d0,d2-d5. */
static int parse_disk_list(struct scanner *scanner, struct layout *layout)
{
    layout->disks = DISKS_LIST;
    do {
        uint32_t first, last;
        size_t at;
        int r;

        scan_blanks(scanner);
        at = scanner->at;
        r = scan_disk(scanner, &first);
        last = first;
        if (r == 0 && scan_accept(scanner, '-'))
            r = scan_disk(scanner, &last);
        if (r == 0 && last < first)
            r = scan_fail(scanner, -EINVAL, at, "the range runs backwards: write d%" PRIu32 "-d%" PRIu32, last, first);
        for (uint32_t disk = first; r == 0 && disk <= last; disk++)
            r = add_disk(scanner, layout, disk, at);
        if (r < 0)
            return r;
    } while (scan_accept(scanner, ','));
    return 0;
}

static int parse_disks(struct scanner *scanner, struct layout *layout)
{
    size_t len;

    if (scan_accept_word(scanner, "all")) {
        layout->disks = DISKS_ALL;
        return 0;
    }
    if (!scan_accept_word(scanner, "pool"))
        return scan_peek(scanner) == 'd' ? parse_disk_list(scanner, layout)
                                         : scan_fail_expected(scanner, "disks: d0,d2-d5, pool:NAME or all");
    if (scan_expect(scanner, ':') < 0)
        return -EINVAL;
    len = scan_word_len(scanner);
    if (len == 0)
        return scan_fail_expected(scanner, "the name of a pool");
    if (len >= sizeof layout->pool)
        return scan_fail(scanner, -E2BIG, scanner->at, "a pool's name has at most %zu bytes", sizeof layout->pool - 1);
    memcpy(layout->pool, scanner->text + scanner->at, len);
    scanner->at += len;
    layout->disks = DISKS_POOL;
    return 0;
}

bool layout_lists_two(const uint32_t disk[], uint32_t n)
{
    for (uint32_t i = 1; i < n; i++)
        if (disk[i] != disk[0])
            return true;
    return false;
}

static int parse_copies(struct scanner *scanner, struct layout *layout)
{
    uint64_t copies;
    int r;

    scan_blanks(scanner);
    layout->copies_at = scanner->at;
    r = scan_size(scanner, &copies);
    if (r == 0 && (copies < 1 || copies > LAYOUT_COPIES))
        return scan_fail(scanner, -EINVAL, layout->copies_at,
                         "copies is 1 or 2: on so many disks each byte lies. Write 'copies 2', or nothing");
    if (r == 0)
        layout->copies = (uint32_t) copies;
    return r;
}

/* Refuses a second copy that could not lie on another disk than the first. */
static int check_copies(struct scanner *scanner, const struct layout *layout)
{
    if (layout->copies < 2)
        return 0;
    if (layout->element_disk != NULL)
        return scan_fail(scanner, -EINVAL, layout->copies_at,
                         "copies 2 wants a list of disks, the second copy lying on the next of them, and here elements "
                         "name their disks: leave out 'dN:' before elements, and write 'on d0,d1' behind the braces");
    if (layout->disks == DISKS_LIST && !layout_lists_two(layout->disk, layout->n_disks))
        return scan_fail(scanner, -EINVAL, layout->copies_at,
                         "copies 2 puts each byte on two disks, and the list names only d%" PRIu32
                         ": name another one, or leave out 'copies 2'",
                         layout->disk[0]);
    return 0;
}

static int parse_tail(struct scanner *scanner, struct layout *layout)
{
    const char *more = "disp, on, copies or nothing more";
    int r = 0;

    if (scan_accept_word(scanner, "disp"))
        r = scan_size(scanner, &layout->disp);
    layout->on_at = scanner->at;
    if (r == 0 && scan_accept_word(scanner, "on")) {
        r = parse_disks(scanner, layout);
        more = "copies or nothing more";
    }
    layout->copies = 1;
    if (r == 0 && scan_accept_word(scanner, "copies")) {
        r = parse_copies(scanner, layout);
        more = "nothing more";
    }
    if (r == 0 && !scan_at_end(scanner))
        r = scan_fail_expected(scanner, more);
    return r;
}

static int parse_layout(struct scanner *scanner, uint32_t n_disks, struct layout *layout)
{
    struct element_spec *elements = NULL;
    size_t start;
    int r = scan_check_text(scanner);

    if (r < 0)
        return r;
    scan_blanks(scanner);
    start = scanner->at;
    r = scan_accept(scanner, '{') ? falls_parse_elements(scanner, layout, &elements) : parse_named(scanner, layout);
    if (r == 0)
        r = parse_tail(scanner, layout);
    if (r < 0)
        return r;
    if (layout->n == 0)
        layout->n = layout->disks == DISKS_LIST ? layout->n_disks : n_disks;
    r = layout->kind == LAYOUT_FALLS ? falls_build_pattern(scanner, layout, elements, start)
                                     : build_named(scanner, layout, start);
    return r < 0 ? r : check_copies(scanner, layout);
}

int layout_parse(const char *text, size_t len, uint32_t n_disks, struct layout **ret_layout,
                 struct layout_error *ret_error)
{
    cleanup(scan_done) struct scanner scanner = { .text = text, .len = len, .error = ret_error };
    cleanup(layout_freep) struct layout *layout = calloc(1, sizeof *layout);
    int r;

    if (layout == NULL)
        return scan_out_of_memory(&scanner);
    r = parse_layout(&scanner, n_disks, layout);
    if (r < 0)
        return r;
    layout->text = malloc(len + 1);
    if (layout->text == NULL)
        return scan_out_of_memory(&scanner);
    memcpy(layout->text, text, len);
    layout->text[len] = 0;
    *ret_layout = steal(layout);
    return 0;
}

char *layout_with_disks(const struct layout *layout, const char *disks)
{
    const char *copies = layout->copies > 1 ? " copies 2" : "";
    size_t len = layout->on_at;
    bool has_comment;
    char *text;

    while (len > 0 && strchr(" \t\r\n", layout->text[len - 1]) != NULL)
        len--;
    has_comment = memchr(layout->text, '#', len) != NULL; /* of which what follows shall not become a part */
    return asprintf(&text, "%.*s%s%s%s", (int) len, layout->text,
                    has_comment && (*disks != 0 || *copies != 0) ? "\n" : "", disks, copies) < 0
               ? NULL
               : text;
}

char *layout_without_disks(const struct layout *layout)
{
    return layout_with_disks(layout, "");
}

void layout_free(struct layout *layout)
{
    if (layout == NULL)
        return;
    free(layout->text);
    free(layout->var_unit);
    free(layout->element_disk);
    free(layout->disk);
    pattern_free(layout->pattern);
    free(layout);
}

size_t layout_bytes(const struct layout *layout)
{
    size_t bytes = sizeof *layout + strlen(layout->text) + 1 + layout->n_disks * sizeof layout->disk[0];

    if (layout->var_unit != NULL)
        bytes += layout->n * sizeof layout->var_unit[0];
    if (layout->element_disk != NULL)
        bytes += layout->pattern->n_elements * sizeof layout->element_disk[0];
    return layout->pattern != NULL ? bytes + pattern_bytes(layout->pattern) : bytes;
}

void layout_freep(struct layout **layout)
{
    layout_free(*layout);
}
