/* SPDX-License-Identifier: MIT */
#include "fs/ctl/show/picture.h"
#include "fs/json/utf8.h"

#include <string.h>

#define MAX_TREES 16 /* elements whose FALLS are written out */
#define MAX_NODES 64 /* FALLS of one element that are */

static void print_cells(FILE *out, const struct picture *picture, bool colour)
{
    static const int hue[] = { 34, 32, 33, 31, 35, 36 };
    bool wide = picture->cols <= 32;

    for (uint32_t row = 0; row < picture->rows; row++) {
        fprintf(out, "%14" PRIu64 "  ", picture->row_off[row]);
        for (uint32_t col = 0; col < picture->cols; col++) {
            uint32_t owner = picture->owner[row * picture->cols + col];

            if (colour && owner != OWNER_NONE)
                fprintf(out, "\033[%dm%c\033[0m", hue[owner % ARRAY_SIZE(hue)], picture_letter(owner));
            else
                fputc(picture_letter(owner), out);
            if (wide && col + 1 < picture->cols)
                fputc(' ', out);
        }
        fputc('\n', out);
    }
}

/* Says how many elements the drawn part leaves out, and when letters do not tell elements apart. */
static void print_missing(FILE *out, const struct picture *picture, uint32_t n_elements)
{
    uint32_t most = 0, missing = picture_missing(picture, n_elements);

    for (uint32_t i = 0; i < picture->rows * picture->cols; i++)
        if (picture->owner[i] != OWNER_NONE)
            most = MAX(most, picture->owner[i]);
    if (missing > 0)
        fprintf(out, "\n%" PRIu32 " of %" PRIu32 " elements have no bytes in this part\n", missing, n_elements);
    if (most >= PICTURE_LETTERS)
        fprintf(out, "\nletters repeat after %d elements\n", PICTURE_LETTERS);
}

static void print_node(FILE *out, const struct nest_node *node)
{
    const struct falls *f = &node->f;

    fprintf(out, "(%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ")   ", f->l, f->r, f->s, f->n);
    layout_print_size(out, falls_len(f));
    fprintf(out, " byte%s from %" PRIu64, falls_len(f) == 1 ? "" : "s", f->l);
    if (f->n > 1) {
        fprintf(out, ", %" PRIu64 " times, every ", f->n);
        layout_print_size(out, f->s);
    }
    fputs(node->n_child > 0 ? ", of each:\n" : "\n", out);
}

struct tree {
    FILE *out;
    const struct nest *nest;
    unsigned left; /* how many more to write */
    char indent[4 * FALLS_MAX_DEPTH * 3 + 1];
};

static void print_tree(struct tree *tree, uint32_t first, uint32_t count)
{
    size_t indent = strlen(tree->indent);

    for (uint32_t i = 0; i < count; i++) {
        const struct nest_node *node = &tree->nest->node[first + i];
        bool last = i + 1 == count;

        if (tree->left == 0) {
            fprintf(tree->out, "%s└─ and %" PRIu32 " more\n", tree->indent, count - i);
            return;
        }
        tree->left--;
        fprintf(tree->out, "%s%s ", tree->indent, last ? "└─" : "├─");
        print_node(tree->out, node);
        snprintf(tree->indent + indent, sizeof tree->indent - indent, "%s", last ? "   " : "│  ");
        print_tree(tree, node->child, node->n_child);
        tree->indent[indent] = 0;
    }
}

static void print_element(FILE *out, const struct layout *layout, uint32_t i)
{
    struct tree tree = { .out = out, .nest = layout->pattern->element[i].once, .left = MAX_NODES, .indent = "   " };

    fprintf(out, "%c  element %" PRIu32, picture_letter(i), i);
    if (layout->element_disk != NULL && layout->element_disk[i] != LAYOUT_ANY_DISK)
        fprintf(out, " on d%" PRIu32, layout->element_disk[i]);
    fputs(": ", out);
    layout_print_size(out, tree.nest->size);
    fputs(" of ", out);
    layout_print_size(out, layout->pattern->size);
    fputs(" bytes\n", out);
    print_tree(&tree, 0, tree.nest->n_top);
}

void picture_print(FILE *out, const struct picture *picture, const struct layout *layout, bool colour)
{
    const struct pattern *pattern = layout->pattern;

    utf8_print_line(out, layout->text, false);
    fputs("\n\n", out);
    if (pattern->disp > 0) {
        fputs("h  header: the first ", out);
        layout_print_size(out, pattern->disp);
        fputs(" bytes\n", out);
    }
    if (layout->copies > 1)
        fputs("2 copies: each byte lies on two disks\n", out);
    fputs("period ", out);
    layout_print_size(out, pattern->size);
    fprintf(out, " bytes, %" PRIu32 " element%s; one letter is %s", pattern->n_elements,
            pattern->n_elements == 1 ? "" : "s", picture->scale);
    if (picture->part[0] != 0)
        fprintf(out, "; shown: %s", picture->part);
    fputs("\n\n", out);
    print_cells(out, picture, colour);
    print_missing(out, picture, pattern->n_elements);
    fputc('\n', out);
    for (uint32_t i = 0; i < MIN(pattern->n_elements, MAX_TREES); i++)
        print_element(out, layout, i);
    if (pattern->n_elements > MAX_TREES)
        fprintf(out, "   and %" PRIu32 " more elements\n", pattern->n_elements - MAX_TREES);
}
