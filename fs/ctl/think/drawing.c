/* SPDX-License-Identifier: MIT */
#include "fs/ctl/think/drawing.h"

#include "layout/map.h"

#include <string.h>

#define MAX_ROWS   32
#define MAX_COLS   64
#define LINE_BYTES 64  /* cells of a line where there is no array */
#define LOOK_AT    128 /* rows of a cell, spread over it: more would take long and tell little */
#define N_DIGITS   62

char drawing_digit(uint32_t disk)
{
    static const char digit[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

    return disk == DRAWING_MIXED ? '*' : disk == DRAWING_NONE ? ' ' : digit[disk % N_DIGITS];
}

/* One period in lines, as a two-dimensional array of bytes. A long period has as many lines as there is room for. */
static struct array lines_of(const struct pattern *pattern)
{
    bool is_long = pattern->size > (uint64_t) LINE_BYTES * MAX_ROWS;
    uint64_t cols = is_long ? pattern->size / MAX_ROWS : MIN(pattern->size, LINE_BYTES);

    return (struct array){ .ndims = 2,
                           .order = ARRAY_ROW_MAJOR,
                           .elem = 1,
                           .header = pattern->disp,
                           .size = { (pattern->size + cols - 1) / cols, cols } };
}

static struct array array_of(const struct file_info *info)
{
    struct array array;

    if (info->array_text != NULL)
        return info->array;
    if (info->layout->kind != LAYOUT_ARRAY)
        return lines_of(info->layout->pattern);
    array = info->layout->array.array;
    array.header = info->layout->disp;
    return array;
}

/* Makes one row of an array of one dimension. */
static void make_plane(struct array *array)
{
    if (array->ndims > 1)
        return;
    array->size[1] = array->size[0];
    array->size[0] = 1;
    array->ndims = 2;
    array->order = ARRAY_ROW_MAJOR;
}

/* How far it is from one index to the next in this dimension, in bytes. */
static uint64_t pace_of(const struct array *array, uint32_t dim)
{
    uint64_t bytes = array->elem;

    for (uint32_t pace = 0; array_dim(array, pace) != dim; pace++)
        bytes *= array->size[array_dim(array, pace)];
    return bytes;
}

/* The disk that has all of [file_off, file_off + len), as far as its first LOOK_AT runs tell; DRAWING_MIXED: several
 * do. */
static uint32_t disk_of_bytes(const struct file_info *info, uint64_t file_off, uint64_t len)
{
    struct runs runs;
    struct run run;
    uint32_t disk = DRAWING_NONE;

    if (runs_init(&runs, info->layout->pattern, file_off, len) < 0)
        return DRAWING_NONE;
    for (unsigned i = 0; i < LOOK_AT && runs_next(&runs, &run); i++) {
        uint32_t here = file_info_disk(info, run.element);

        if (disk != DRAWING_NONE && disk != here)
            return DRAWING_MIXED;
        disk = here;
    }
    return disk;
}

/* The disk of the cell that begins at this row and column. It is looked at in lines, which run along the dimension that
 * lies together in the file. */
static uint32_t disk_of_cell(const struct drawing *drawing, const struct file_info *info, uint64_t row, uint64_t col)
{
    const struct array *array = &drawing->array;
    uint32_t down = array->ndims - 2, across = array->ndims - 1;
    bool along = array->order == ARRAY_ROW_MAJOR;
    uint64_t n_rows = MIN(drawing->cell_rows, array->size[down] - row);
    uint64_t n_cols = MIN(drawing->cell_cols, array->size[across] - col);
    uint64_t n_lines = along ? n_rows : n_cols, line_len = (along ? n_cols : n_rows) * array->elem;
    uint64_t pace = pace_of(array, along ? down : across), step = MAX(n_lines / LOOK_AT, 1);
    uint64_t first = array->header + row * pace_of(array, down) + col * pace_of(array, across);
    uint32_t disk = DRAWING_NONE;

    if (!along && array->ndims > 2)
        line_len = array->elem; /* the elements of a line lie apart: the first stands for all */
    for (uint64_t i = 0; i < n_lines; i += step) {
        uint32_t here = disk_of_bytes(info, first + i * pace, line_len);

        if (disk != DRAWING_NONE && disk != here)
            return DRAWING_MIXED;
        disk = here;
    }
    return disk;
}

static int draw(struct drawing *drawing, const struct file_info *info, uint64_t rows, uint64_t cols)
{
    drawing->rows = (uint32_t) MIN((rows + drawing->cell_rows - 1) / drawing->cell_rows, MAX_ROWS);
    drawing->cols = (uint32_t) MIN((cols + drawing->cell_cols - 1) / drawing->cell_cols, MAX_COLS);
    drawing->disk = malloc((size_t) drawing->rows * drawing->cols * sizeof drawing->disk[0]);
    if (drawing->disk == NULL)
        return -ENOMEM;
    for (uint32_t row = 0; row < drawing->rows; row++)
        for (uint32_t col = 0; col < drawing->cols; col++)
            drawing->disk[row * drawing->cols + col] =
                disk_of_cell(drawing, info, row * drawing->cell_rows, col * drawing->cell_cols);
    return 0;
}

static bool is_mostly_mixed(const struct drawing *drawing)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < drawing->rows * drawing->cols; i++)
        n += drawing->disk[i] == DRAWING_MIXED;
    return n > drawing->rows * drawing->cols / 2;
}

int drawing_init(struct drawing *drawing, const struct file_info *info)
{
    struct array *array = &drawing->array;
    uint64_t rows, cols;
    int r;

    *drawing = (struct drawing){ .array = array_of(info) };
    make_plane(array);
    rows = array->size[array->ndims - 2];
    cols = array->size[array->ndims - 1];
    drawing->cell_rows = (rows + MAX_ROWS - 1) / MAX_ROWS;
    drawing->cell_cols = (cols + MAX_COLS - 1) / MAX_COLS;
    r = draw(drawing, info, rows, cols);
    if (r < 0 || !is_mostly_mixed(drawing) || (drawing->cell_rows == 1 && drawing->cell_cols == 1))
        return r;
    /* Most cells have bytes on several disks and tell nothing: the beginning is drawn instead, element by element. */
    free(steal(drawing->disk));
    drawing->cell_rows = drawing->cell_cols = 1;
    drawing->is_part = true;
    return draw(drawing, info, rows, cols);
}

void drawing_done(struct drawing *drawing)
{
    free(drawing->disk);
}

static bool row_equals(const struct drawing *drawing, uint32_t a, uint32_t b)
{
    return memcmp(drawing->disk + (size_t) a * drawing->cols, drawing->disk + (size_t) b * drawing->cols,
                  drawing->cols * sizeof drawing->disk[0]) == 0;
}

/* Of equal rows that follow each other two are drawn; how many there are is said. */
void drawing_print(FILE *out, const struct drawing *drawing, const struct file_info *info)
{
    const struct array *array = &drawing->array;
    bool mixed = false;

    for (uint32_t row = 0, n; row < drawing->rows; row += n) {
        uint32_t shown;

        for (n = 1; row + n < drawing->rows && row_equals(drawing, row, row + n);)
            n++;
        shown = MIN(n, 2);
        for (uint32_t i = 0; i < shown; i++) {
            fputc(' ', out);
            for (uint32_t col = 0; col < drawing->cols; col++) {
                uint32_t disk = drawing->disk[row * drawing->cols + col];

                mixed |= disk == DRAWING_MIXED;
                fprintf(out, drawing->cols <= 32 ? " %c" : "%c", drawing_digit(disk));
            }
            if (i + 1 == shown && n > 1)
                fprintf(out, "   (%" PRIu32 " such rows)", n);
            fputc('\n', out);
        }
    }
    fputs("  each digit is a disk's number", out);
    if (drawing->cell_rows > 1 || drawing->cell_cols > 1)
        fprintf(out, " and stands for %" PRIu64 " x %" PRIu64 " %s", drawing->cell_rows, drawing->cell_cols,
                array->elem == 1 ? "bytes" : "elements");
    if (drawing->is_part)
        fprintf(out, "; the first %" PRIu32 " x %" PRIu32 " elements", drawing->rows, drawing->cols);
    if (mixed)
        fputs("; * lies on several", out);
    if (info->n_disks > N_DIGITS)
        fprintf(out, "; digits repeat after %d disks", N_DIGITS);
    if (array->ndims > 2)
        fputs("; the first plane of the last two dimensions", out);
    fputc('\n', out);
}
