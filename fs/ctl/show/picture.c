/* SPDX-License-Identifier: MIT */
#include "fs/ctl/show/picture.h"

#include "layout/map.h"

#include <string.h>

#define MAX_ROWS 32
#define MAX_COLS 64

char picture_letter(uint32_t element)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

    return element == OWNER_NONE ? ' ' : letters[element % PICTURE_LETTERS];
}

static uint32_t owner_of(const struct layout *layout, uint64_t period_off)
{
    struct place place;

    if (period_off >= layout->pattern->size ||
        pattern_map(layout->pattern, layout->pattern->disp + period_off, &place) < 0)
        return OWNER_NONE;
    return place.element;
}

static int allocate(struct picture *picture, uint64_t rows, uint64_t cols)
{
    picture->rows = (uint32_t) MIN(rows, MAX_ROWS);
    picture->cols = (uint32_t) MIN(cols, MAX_COLS);
    picture->owner = malloc((size_t) picture->rows * picture->cols * sizeof picture->owner[0]);
    picture->row_off = malloc(picture->rows * sizeof picture->row_off[0]);
    return picture->owner != NULL && picture->row_off != NULL ? 0 : -ENOMEM;
}

/* The largest number of bytes that all borders between owners are a multiple of. */
static uint64_t common_unit(const struct cover *cover)
{
    uint64_t unit = cover->node[0].len;

    for (uint32_t i = 1; i < cover->n_nodes; i++)
        unit = gcd_u64(gcd_u64(unit, cover->node[i].l), cover->node[i].len);
    return unit;
}

/* Divides cells until there are enough of them, so that small patterns are drawn large. */
static uint64_t subdivide(uint64_t unit, uint64_t n, uint64_t wanted)
{
    for (uint64_t by = 2; by <= unit && n / unit < wanted;) {
        if (unit % by == 0)
            unit /= by;
        else if (++by > 7)
            by = unit;
    }
    return unit;
}

static int draw_bytes(struct picture *picture, const struct layout *layout)
{
    uint64_t period = layout->pattern->size,
             unit = subdivide(common_unit(layout->pattern->cover), period, MAX_COLS / 2);
    uint64_t cells = period / unit, cols = MIN(cells, MAX_COLS);
    int r;

    for (uint64_t c = cols; c > MAX_COLS / 2; c--) /* rows that end where the pattern turns read best */
        if (cells % c == 0) {
            cols = c;
            break;
        }
    r = allocate(picture, (cells + cols - 1) / cols, cols);
    if (r < 0)
        return r;
    for (uint32_t row = 0; row < picture->rows; row++) {
        picture->row_off[row] = layout->pattern->disp + row * cols * unit;
        for (uint32_t col = 0; col < picture->cols; col++)
            picture->owner[row * picture->cols + col] = owner_of(layout, (row * cols + col) * unit);
    }
    snprintf(picture->scale, sizeof picture->scale, "%" PRIu64 " byte%s", unit, unit == 1 ? "" : "s");
    if (cells > (uint64_t) picture->rows * picture->cols)
        snprintf(picture->part, sizeof picture->part, "the first %" PRIu64 " of %" PRIu64 " bytes",
                 picture->rows * cols * unit, period);
    return 0;
}

/* The largest number of indices that all borders between owners in this dimension are a multiple of. */
static uint64_t dimension_unit(const struct dist *dist, uint64_t n)
{
    if (dist->grid == 1)
        return n;
    return gcd_u64(n, dist->kind == DIST_CYCLIC ? MIN(dist->k, n) : (n + dist->grid - 1) / dist->grid);
}

static int draw_array(struct picture *picture, const struct layout *layout)
{
    const struct dist_array *dist = &layout->array;
    const struct array *array = &dist->array;
    uint32_t down = array->ndims - 2, across = array->ndims - 1;
    uint64_t unit[2] = { dimension_unit(&dist->dist[down], array->size[down]),
                         dimension_unit(&dist->dist[across], array->size[across]) };
    uint64_t slice[ARRAY_MAX_DIMS], bytes = array->elem, rows, cols;
    int r;

    for (uint32_t pace = 0; pace < array->ndims; pace++) {
        slice[array_dim(array, pace)] = bytes;
        bytes *= array->size[array_dim(array, pace)];
    }
    for (unsigned i = 0; i < 2; i++)
        unit[i] = subdivide(unit[i], array->size[down + i], 8);
    rows = (array->size[down] + unit[0] - 1) / unit[0];
    cols = (array->size[across] + unit[1] - 1) / unit[1];
    r = allocate(picture, rows, cols);
    if (r < 0)
        return r;
    for (uint32_t row = 0; row < picture->rows; row++) {
        picture->row_off[row] = layout->pattern->disp + row * unit[0] * slice[down];
        for (uint32_t col = 0; col < picture->cols; col++)
            picture->owner[row * picture->cols + col] =
                owner_of(layout, row * unit[0] * slice[down] + col * unit[1] * slice[across]);
    }
    snprintf(picture->scale, sizeof picture->scale, "%" PRIu64 " x %" PRIu64 " elements of %" PRIu64 " byte%s", unit[0],
             unit[1], array->elem, array->elem == 1 ? "" : "s");
    if (array->ndims > 2 || rows > picture->rows || cols > picture->cols)
        snprintf(picture->part, sizeof picture->part,
                 "%s%" PRIu64 " of %" PRIu64 " rows, %" PRIu64 " of %" PRIu64 " columns",
                 array->ndims > 2 ? "first plane of the last two dimensions: " : "",
                 MIN(picture->rows * unit[0], array->size[down]), array->size[down],
                 MIN(picture->cols * unit[1], array->size[across]), array->size[across]);
    return 0;
}

int picture_init(struct picture *picture, const struct layout *layout)
{
    int r;

    *picture = (struct picture){ 0 };
    r = layout->kind == LAYOUT_ARRAY && layout->array.array.ndims > 1 ? draw_array(picture, layout)
                                                                      : draw_bytes(picture, layout);
    if (r < 0)
        picture_done(picture);
    return r;
}

void picture_done(struct picture *picture)
{
    free(picture->owner);
    free(picture->row_off);
}

uint32_t picture_missing(const struct picture *picture, uint32_t n_elements)
{
    uint32_t missing = 0;

    for (uint32_t element = 0; element < n_elements; element++) {
        uint32_t i = 0;

        while (i < picture->rows * picture->cols && picture->owner[i] != element)
            i++;
        missing += i == picture->rows * picture->cols;
    }
    return missing;
}
