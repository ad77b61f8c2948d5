/* SPDX-License-Identifier: MIT */
#include "fs/learn/heat.h"

#include "layout/map.h"

#define MAX_STEPS (UINT64_C(1) << 26) /* pieces that are looked at */

static uint64_t step_of(uint64_t all, uint32_t cells)
{
    return all > 0 ? (all - 1) / cells + 1 : 1;
}

/* A grid for things so many in either direction. */
static int heat_init(struct heat *heat, uint64_t n_rows, uint64_t n_cols)
{
    uint64_t row_step = step_of(n_rows, HEAT_ROWS), col_step = step_of(n_cols, HEAT_COLS);

    *heat = (struct heat){ .rows = (uint32_t) ((MAX(n_rows, 1) - 1) / row_step + 1),
                           .cols = (uint32_t) ((MAX(n_cols, 1) - 1) / col_step + 1),
                           .row_step = row_step,
                           .col_step = col_step };
    heat->read = calloc((size_t) heat->rows * heat->cols, sizeof *heat->read);
    heat->written = calloc((size_t) heat->rows * heat->cols, sizeof *heat->written);
    return heat->read == NULL || heat->written == NULL ? -ENOMEM : 0;
}

void heat_done(struct heat *heat)
{
    free(heat->read);
    free(heat->written);
    *heat = (struct heat){ 0 };
}

static int end(struct heat *heat, int r)
{
    if (r < 0)
        heat_done(heat);
    return r;
}

uint64_t heat_most(const struct heat *heat)
{
    uint64_t most = 0;

    for (size_t i = 0; i < (size_t) heat->rows * heat->cols; i++)
        most = MAX(most, heat->read[i] + heat->written[i]);
    return most;
}

static void add(struct heat *heat, uint64_t row, uint64_t col, const struct touch *touch, uint64_t bytes)
{
    uint64_t *cells = touch->writes ? heat->written : heat->read;

    cells[row / heat->row_step * heat->cols + col / heat->col_step] += bytes;
}

/* -- parts of the file -- */

static void add_places(struct heat *heat, const struct touch *touch, uint64_t col)
{
    uint64_t to;

    for (uint64_t at = touch->off; at < touch->end; at = to) {
        to = MIN((at / heat->row_step + 1) * heat->row_step, touch->end);
        add(heat, at, col, touch, to - at);
    }
}

/* How long it is from the first touch to the last, which are in order. */
static uint64_t span_of(const struct touches *touches)
{
    return touches->n > 0 ? MIN(touches->touch[touches->n - 1].at - touches->touch[0].at, UINT64_MAX - 1) + 1 : 1;
}

int heat_of_times(struct heat *heat, const struct touches *touches, uint64_t size)
{
    int r = heat_init(heat, MAX(size, touches->end), span_of(touches));

    for (size_t i = 0; r == 0 && i < touches->n; i++)
        add_places(heat, &touches->touch[i], touches->touch[i].at - touches->touch[0].at);
    return end(heat, r);
}

int heat_of_ranks(struct heat *heat, const struct touches *touches, uint64_t size)
{
    int r = heat_init(heat, MAX(size, touches->end), touches->n_ranks);

    for (size_t i = 0; r == 0 && i < touches->n; i++)
        add_places(heat, &touches->touch[i], touches->touch[i].rank);
    return end(heat, r);
}

/* -- disks -- */

int heat_of_disks(struct heat *heat, const struct touches *touches, const struct pattern *pattern, uint32_t n_disks)
{
    uint64_t left = MAX_STEPS;
    int r = heat_init(heat, n_disks, span_of(touches));

    for (size_t i = 0; r == 0 && i < touches->n; i++) {
        const struct touch *touch = &touches->touch[i];
        struct runs runs;
        struct run run;

        r = runs_init(&runs, pattern, touch->off, touch->end - touch->off);
        while (r == 0 && runs_next(&runs, &run)) {
            add(heat, run.element == ELEMENT_HEADER ? 0 : run.element % n_disks, touch->at - touches->touch[0].at,
                touch, run.len);
            if (left-- == 0)
                r = -E2BIG;
        }
    }
    return end(heat, r);
}

/* -- arrays -- */

/* Adds a piece of one line, the elements that follow each other in the file; the line is row or column number other of
 * the picture. */
static void add_line(struct heat *heat, const struct array *array, const struct touch *touch, uint64_t other,
                     uint64_t byte, uint64_t len)
{
    bool is_row = array_dim(array, 0) > array_dim(array, 1); /* lines lie on paper from left to right */
    uint64_t cell = (is_row ? heat->col_step : heat->row_step) * array->elem, to;

    for (uint64_t at = byte; at < byte + len; at = to) {
        uint64_t along = at / array->elem;

        to = MIN((at / cell + 1) * cell, byte + len);
        add(heat, is_row ? other : along, is_row ? along : other, touch, to - at);
    }
}

int heat_of_array(struct heat *heat, const struct touches *touches, const struct array *array)
{
    uint32_t fast = array->ndims > 1 ? array_dim(array, 0) : 0, slow = array->ndims > 1 ? array_dim(array, 1) : 0;
    uint64_t line = array->size[fast] * array->elem, left = MAX_STEPS, to;
    int r = array->ndims > 1 ? heat_init(heat, array->size[MIN(fast, slow)], array->size[MAX(fast, slow)]) : -EINVAL;

    for (size_t i = 0; r == 0 && i < touches->n; i++) {
        const struct touch *touch = &touches->touch[i];

        for (uint64_t at = MAX(touch->off, array->header); r == 0 && at < touch->end; at = to) {
            uint64_t inside = at - array->header;

            to = MIN(at + line - inside % line, touch->end);
            add_line(heat, array, touch, inside / line % array->size[slow], inside % line, to - at);
            if (left-- == 0)
                r = -E2BIG;
        }
    }
    return r == -EINVAL ? r : end(heat, r);
}
