/* SPDX-License-Identifier: MIT */
#include "fs/ctl/show/picture.h"
#include "fs/json/utf8.h"

#define WIDTH      960
#define MARGIN     24
#define LINE       20
#define MAX_TREES  16
#define MAX_NODES  24
#define LABEL_ROOM 110

/* Writes the colour of an element: neighbours can be told apart by theirs, however many elements there are. */
static void put_fill(FILE *out, uint32_t element)
{
    fprintf(out, "fill=\"hsl(%u,62%%,%u%%)\"", (element * 137u + 210u) % 360u, 58u + element / 8 % 3 * 9);
}

static void put_line(FILE *out, unsigned y, unsigned indent, const char *style)
{
    fprintf(out, "<text x=\"%u\" y=\"%u\" %s>", MARGIN + indent, y, style);
}

static void put_cells(FILE *out, const struct picture *picture, unsigned top, double cell_w, double cell_h)
{
    for (uint32_t row = 0; row < picture->rows; row++) {
        double y = top + row * cell_h;

        fprintf(out, "<text x=\"%u\" y=\"%.1f\" class=\"off\">%" PRIu64 "</text>\n", MARGIN + LABEL_ROOM - 8,
                y + cell_h / 2 + 4, picture->row_off[row]);
        for (uint32_t col = 0; col < picture->cols; col++) {
            uint32_t owner = picture->owner[row * picture->cols + col];
            double x = MARGIN + LABEL_ROOM + col * cell_w;

            if (owner == OWNER_NONE)
                continue;
            fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" ", x, y, cell_w, cell_h);
            put_fill(out, owner);
            fprintf(out, "><title>element %" PRIu32 "</title></rect>\n", owner);
            if (cell_w >= 12)
                fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"cell\">%c</text>\n", x + cell_w / 2,
                        y + cell_h / 2 + 4, picture_letter(owner));
        }
    }
}

/* Writes the FALLS of a set as indented lines, at most *left of them; returns where the next line goes. */
static unsigned put_tree(FILE *out, const struct nest *nest, uint32_t first, uint32_t count, unsigned y,
                         unsigned indent, unsigned *left)
{
    for (uint32_t i = first; i < first + count; i++, y += LINE) {
        const struct falls *f = &nest->node[i].f;

        if (*left == 0)
            return y;
        (*left)--;
        put_line(out, y, indent, "class=\"falls\"");
        fprintf(out, "(%" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 ")</text>\n", f->l, f->r, f->s, f->n);
        if (nest->node[i].n_child > 0)
            y = put_tree(out, nest, nest->node[i].child, nest->node[i].n_child, y + LINE, indent + 24, left) - LINE;
    }
    return y;
}

static unsigned put_element(FILE *out, const struct layout *layout, uint32_t i, unsigned y)
{
    const struct nest *nest = layout->pattern->element[i].once;
    unsigned left = MAX_NODES;

    fprintf(out, "<rect x=\"%d\" y=\"%u\" width=\"14\" height=\"14\" ", MARGIN, y - 12);
    put_fill(out, i);
    fputs("/>\n", out);
    put_line(out, y, 24, "");
    fprintf(out, "%c: element %" PRIu32 ", ", picture_letter(i), i);
    layout_print_size(out, nest->size);
    fputs(" of ", out);
    layout_print_size(out, layout->pattern->size);
    fputs(" bytes</text>\n", out);
    return put_tree(out, nest, 0, nest->n_top, y + LINE, 48, &left) + 4;
}

static unsigned lines_of(const struct layout *layout)
{
    unsigned lines = 0;

    for (uint32_t i = 0; i < MIN(layout->pattern->n_elements, MAX_TREES); i++)
        lines += 1 + MIN(layout->pattern->element[i].once->n_nodes, MAX_NODES);
    return lines;
}

void picture_svg(FILE *out, const struct picture *picture, const struct layout *layout)
{
    const struct pattern *pattern = layout->pattern;
    double cell_w = MIN((double) (WIDTH - 2 * MARGIN - LABEL_ROOM) / picture->cols, 40.0),
           cell_h = MIN(MAX(cell_w, 14.0), 28.0);
    unsigned top = MARGIN + 4 * LINE, y = top + (unsigned) (cell_h * picture->rows) + 2 * LINE;

    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" font-family=\"sans-serif\" "
            "font-size=\"14\">\n"
            "<style>rect{stroke:#fff;stroke-width:1} .cell{text-anchor:middle;fill:#fff;font-size:12px} "
            ".off{text-anchor:end;fill:#666;font-size:11px} .falls{font-family:monospace;fill:#333} "
            "text{fill:#222}</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            WIDTH, y + (lines_of(layout) + 2) * LINE + 4 * MIN(pattern->n_elements, MAX_TREES));
    put_line(out, MARGIN + LINE / 2, 0, "font-weight=\"bold\"");
    utf8_print_line(out, layout->text, true);
    fputs("</text>\n", out);
    put_line(out, MARGIN + LINE / 2 + LINE, 0, "");
    fputs("period ", out);
    layout_print_size(out, pattern->size);
    fprintf(out, " bytes from byte %" PRIu64 " on; a cell is %s</text>\n", pattern->disp, picture->scale);
    if (picture->part[0] != 0) {
        put_line(out, MARGIN + LINE / 2 + 2 * LINE, 0, "");
        fprintf(out, "shown: %s</text>\n", picture->part);
    }
    put_cells(out, picture, top, cell_w, cell_h);
    for (uint32_t i = 0; i < MIN(pattern->n_elements, MAX_TREES); i++)
        y = put_element(out, layout, i, y);
    if (pattern->n_elements > MAX_TREES) {
        put_line(out, y, 24, "");
        fprintf(out, "and %" PRIu32 " more elements</text>\n", pattern->n_elements - MAX_TREES);
    }
    fputs("</svg>\n", out);
}
