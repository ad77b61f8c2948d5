/* SPDX-License-Identifier: MIT */
#include "fs/ctl/verbs/profile_say.h"

#include "fs/ctl/show/table.h"
#include "fs/json/utf8.h"
#include "fs/learn/heat.h"

#define LEFT   110 /* of the cells, where rows have their labels */
#define WIDTH  840 /* of the cells */
#define HEIGHT 320
#define BELOW  24 /* where columns have theirs */

/* What rows and columns of a map are. */
enum axis {
    AXIS_BYTES,
    AXIS_TIME,
    AXIS_RANK,
    AXIS_DISK,
    AXIS_INDEX,
};

static const char head[] =
    "<!DOCTYPE html>\n"
    "<html lang=\"en\"><head><meta charset=\"utf-8\"/><title>profile</title><style>\n"
    "body{font:15px/1.5 sans-serif;max-width:980px;margin:2em auto;padding:0 1em;color:#222;background:#fff}\n"
    "pre{font-size:12px;line-height:1.35;background:#f5f5f5;padding:1em;overflow-x:auto}\n"
    "svg{width:100%;height:auto;background:#fafafa}\n"
    "rect{shape-rendering:crispEdges}\n" /* or light shines between cells */
    "text{font:11px sans-serif;fill:#444}\n"
    "h2{font-size:1.1em;margin-bottom:0}\n"
    "p{margin:.2em 0}\n"
    "</style></head><body>\n";

static const char *const axis_name[] = {
    [AXIS_BYTES] = "byte of the file",
    [AXIS_TIME] = "time",
    [AXIS_RANK] = "rank",
    [AXIS_DISK] = "disk",
    [AXIS_INDEX] = "index",
};

/* Where a cell begins, as people say it. */
static const char *label(enum axis axis, uint64_t value, char text[static SIZE_TEXT])
{
    if (axis == AXIS_BYTES && value >= 1024)
        return size_text(value, false, text);
    if (value == 0)
        return "0";
    if (axis == AXIS_TIME && value >= 1000000000)
        snprintf(text, SIZE_TEXT, "%.4g s", (double) value / 1e9);
    else if (axis == AXIS_TIME)
        snprintf(text, SIZE_TEXT, value < 1000000 ? "%.3g us" : "%.3g ms",
                 (double) value / (value < 1000000 ? 1e3 : 1e6));
    else
        snprintf(text, SIZE_TEXT, "%" PRIu64, value);
    return text;
}

/* The fill of a cell: blue is read, red is written, and the darker the more. */
static void put_fill(FILE *out, uint64_t read, uint64_t written, uint64_t most)
{
    double all = (double) read + (double) written;

    fprintf(out, "fill=\"hsl(%.0f,65%%,%.0f%%)\"", 215 + 145 * (double) written / all, 88 - 50 * all / (double) most);
}

static void put_cell(FILE *out, const struct heat *heat, uint64_t most, enum axis rows, enum axis cols, size_t i,
                     double cell_h)
{
    uint64_t row = i / heat->cols, col = i % heat->cols;
    double cell_w = (double) WIDTH / heat->cols;
    char text[SIZE_TEXT], where[SIZE_TEXT], read[SIZE_TEXT], written[SIZE_TEXT];

    fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" ", LEFT + (double) col * cell_w,
            (double) row * cell_h, cell_w, cell_h);
    put_fill(out, heat->read[i], heat->written[i], most);
    fprintf(out, "><title>%s %s, %s %s: %s read, %s written</title></rect>\n", axis_name[rows],
            label(rows, row * heat->row_step, text), axis_name[cols], label(cols, col * heat->col_step, where),
            label(AXIS_BYTES, heat->read[i], read), label(AXIS_BYTES, heat->written[i], written));
}

static void put_labels(FILE *out, const struct heat *heat, enum axis rows, enum axis cols, double cell_h)
{
    double height = cell_h * heat->rows;
    uint32_t each = (heat->rows + 15) / 16;
    char text[SIZE_TEXT];

    for (uint32_t row = 0; row < heat->rows; row += each)
        fprintf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", LEFT - 6,
                row * cell_h + MAX(cell_h / 2 + 4, 9), label(rows, row * heat->row_step, text));
    for (uint32_t col = 0; col < heat->cols; col += (heat->cols + 4) / 5)
        fprintf(out, "<text x=\"%.1f\" y=\"%.1f\">%s</text>\n", LEFT + (double) WIDTH * col / heat->cols, height + 14,
                label(cols, col * heat->col_step, text));
}

/* Writes a map, and frees it. */
static void put_map(FILE *out, struct heat *heat, enum axis rows, enum axis cols)
{
    double cell_h = heat->rows <= 8 ? 24 : (double) HEIGHT / heat->rows;
    uint64_t most = heat_most(heat);

    fprintf(out, "<svg viewBox=\"0 0 %d %.0f\" role=\"img\">\n", LEFT + WIDTH + 10, cell_h * heat->rows + BELOW);
    for (size_t i = 0; i < (size_t) heat->rows * heat->cols; i++)
        if (heat->read[i] + heat->written[i] > 0)
            put_cell(out, heat, most, rows, cols, i, cell_h);
    put_labels(out, heat, rows, cols, cell_h);
    fputs("</svg>\n", out);
    heat_done(heat);
}

static void put_heading(FILE *out, const char *title, const char *what)
{
    fprintf(out, "<h2>%s</h2>\n<p>%s</p>\n", title, what);
}

/* The disks of a layout; nothing where there is none, or more disks than a map can have. */
static int put_disks(FILE *out, const struct profile *profile, const struct profile_layout *layout, const char *title)
{
    struct heat heat;
    int r;

    if (layout->layout == NULL || !layout->is_counted || layout->n_disks > HEAT_ROWS)
        return 0;
    r = heat_of_disks(&heat, &profile->touches, layout->layout->pattern, layout->n_disks);
    if (r < 0)
        return r == -ENOMEM ? r : 0;
    put_heading(out, title, "Disks from top to bottom, time from left to right.");
    put_map(out, &heat, AXIS_DISK, AXIS_TIME);
    return 0;
}

static int put_array(FILE *out, const struct profile *profile)
{
    struct heat heat;
    int r = profile->knows_array ? heat_of_array(&heat, &profile->touches, &profile->array) : -EINVAL;

    if (r < 0)
        return r == -ENOMEM ? r : 0;
    put_heading(out, "The array",
                profile->array.ndims > 2
                    ? "The two dimensions that vary fastest, rows and columns as on paper; what has "
                      "more dimensions lies on top of each other."
                    : "Rows and columns as on paper.");
    put_map(out, &heat, AXIS_INDEX, AXIS_INDEX);
    return 0;
}

static int put_maps(FILE *out, const struct profile *profile)
{
    const struct profile_layout *by_text = &profile->proposed[PARTITION_TEXT];
    const struct profile_layout *by_figure = &profile->proposed[PARTITION_FIGURE];
    struct heat heat;
    int r = heat_of_times(&heat, &profile->touches, profile->file->size);

    if (r < 0)
        return r;
    put_heading(out, "When",
                "The file from top to bottom, time from left to right. Blue is read, red is written, purple "
                "both; the darker, the more bytes. What is under the pointer is told.");
    put_map(out, &heat, AXIS_BYTES, AXIS_TIME);
    r = heat_of_ranks(&heat, &profile->touches, profile->file->size);
    if (r < 0)
        return r;
    put_heading(out, "Who", "The file from top to bottom, processes by their ranks from left to right.");
    put_map(out, &heat, AXIS_BYTES, AXIS_RANK);
    r = put_array(out, profile);
    if (r == 0)
        r = put_disks(out, profile, &profile->now, "Disks, as the file is laid out");
    if (r == 0)
        r = put_disks(out, profile, by_text, "Disks, each chunk with the process that accesses it most");
    if (r == 0 && by_text->text != NULL && by_figure->text != NULL && strcmp(by_text->text, by_figure->text) != 0)
        r = put_disks(out, profile, by_figure, "Disks, each chunk with the process that reads it most");
    return r;
}

/* Writes what the profile says in words, line by line. */
static int put_text(FILE *out, const struct trace *trace, const struct profile *profile)
{
    cleanup(freep) char *text = NULL;
    size_t len;
    FILE *lines = open_memstream(&text, &len);
    char *rest;

    if (lines == NULL)
        return -ENOMEM;
    profile_print(lines, trace, profile);
    if (fclose(lines) != 0)
        return -ENOMEM;
    fputs("<pre>\n", out);
    rest = text;
    while (rest != NULL && *rest != 0) {
        utf8_print_line(out, strsep(&rest, "\n"), true);
        fputc('\n', out);
    }
    fputs("</pre>\n", out);
    return 0;
}

int profile_html(FILE *out, const struct trace *trace, const struct profile *profile)
{
    int r;

    fputs(head, out);
    fputs("<h1>", out);
    utf8_print_line(out, profile->file->path, true);
    fputs("</h1>\n", out);
    r = put_text(out, trace, profile);
    if (r == 0)
        r = put_maps(out, profile);
    fputs("</body></html>\n", out);
    return r;
}
