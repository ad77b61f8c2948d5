/* SPDX-License-Identifier: MIT */
#include "layout/layout.h"

struct shift {
    uint64_t by;
    uint32_t n; /* elements that repeat the first one, each so much further on */
};

static void print_set(FILE *out, const struct nest *nest, uint32_t first, uint32_t count, struct shift shift)
{
    for (uint32_t i = first; i < first + count; i++) {
        const struct nest_node *node = &nest->node[i];

        fprintf(out, "%s(%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, i > first ? "," : "", node->f.l, node->f.r,
                node->f.s, node->f.n);
        if (shift.n > 1)
            fprintf(out, ";%" PRIu64 ",%" PRIu32, shift.by, shift.n);
        if (node->n_child > 0) {
            fputs(",{", out);
            print_set(out, nest, node->child, node->n_child, (struct shift){ 0 });
            fputc('}', out);
        }
        fputc(')', out);
    }
}

void nest_print(FILE *out, const struct nest *nest)
{
    fputc('{', out);
    print_set(out, nest, 0, nest->n_top, (struct shift){ 0 });
    fputc('}', out);
}

/* Whether b selects what a does, by bytes further on. */
static bool is_shifted(const struct nest *a, const struct nest *b, uint64_t by)
{
    if (a->n_top != b->n_top || a->n_nodes != b->n_nodes)
        return false;
    for (uint32_t i = 0; i < a->n_nodes; i++) {
        const struct nest_node *x = &a->node[i], *y = &b->node[i];
        uint64_t shift = i < a->n_top ? by : 0;

        if (y->f.l != x->f.l + shift || y->f.r != x->f.r + shift || y->f.s != x->f.s || y->f.n != x->f.n ||
            y->child != x->child || y->n_child != x->n_child)
            return false;
    }
    return true;
}

static uint32_t disk_of(const struct layout *layout, uint32_t element)
{
    return layout->element_disk != NULL ? layout->element_disk[element] : LAYOUT_ANY_DISK;
}

/* How many elements from i on are the same set, each shifted by as much against the one before: the PITFALLS suffix. */
static struct shift find_shift(const struct layout *layout, uint32_t i)
{
    const struct element *element = layout->pattern->element;
    const struct nest *here = element[i].once, *next;
    struct shift shift = { .n = 1 };

    if (i + 1 == layout->pattern->n_elements || here->n_top == 0)
        return shift;
    next = element[i + 1].once;
    if (next->n_top == 0 || next->node[0].f.l <= here->node[0].f.l)
        return shift;
    shift.by = next->node[0].f.l - here->node[0].f.l;
    while (i + shift.n < layout->pattern->n_elements && disk_of(layout, i + shift.n) == disk_of(layout, i) &&
           is_shifted(element[i + shift.n - 1].once, element[i + shift.n].once, shift.by))
        shift.n++;
    return shift;
}

static void print_falls(FILE *out, const struct layout *layout)
{
    fputc('{', out);
    for (uint32_t i = 0; i < layout->pattern->n_elements;) {
        const struct nest *nest = layout->pattern->element[i].once;
        struct shift shift = find_shift(layout, i);

        if (i > 0)
            fputc(';', out);
        if (disk_of(layout, i) != LAYOUT_ANY_DISK)
            fprintf(out, "d%" PRIu32 ":", disk_of(layout, i));
        if (nest->n_top == 0)
            fputs("()", out);
        else
            print_set(out, nest, 0, nest->n_top, shift);
        i += shift.n;
    }
    fputc('}', out);
}

void layout_print_size(FILE *out, uint64_t size)
{
    static const char suffix[] = "KMGT";
    size_t power = 0;

    while (size != 0 && size % 1024 == 0 && power < sizeof suffix - 1) {
        size /= 1024;
        power++;
    }
    fprintf(out, "%" PRIu64, size);
    if (power > 0)
        fputc(suffix[power - 1], out);
}

/* Prints a layout without pattern: only kinds whose number of elements is left to the volume have none. */
static void print_open_kind(FILE *out, const struct layout *layout)
{
    fputs(layout->kind == LAYOUT_TWOD ? "twod(" : "stripe(", out);
    layout_print_size(out, layout->unit);
    if (layout->kind == LAYOUT_TWOD)
        fprintf(out, ",%" PRIu64 ",%" PRIu64, layout->groups, layout->factor);
    fputc(')', out);
}

static void print_disk_list(FILE *out, const struct layout *layout)
{
    for (uint32_t i = 0, n; i < layout->n_disks; i += n) {
        for (n = 1; i + n < layout->n_disks && layout->disk[i + n] == layout->disk[i] + n;)
            n++;
        fprintf(out, "%sd%" PRIu32, i > 0 ? "," : " on ", layout->disk[i]);
        if (n > 1)
            fprintf(out, "-d%" PRIu32, layout->disk[i + n - 1]);
    }
}

void layout_print(FILE *out, const struct layout *layout)
{
    if (layout->pattern != NULL)
        print_falls(out, layout);
    else
        print_open_kind(out, layout);
    if (layout->disp > 0)
        fprintf(out, " disp %" PRIu64, layout->disp);
    if (layout->disks == DISKS_LIST)
        print_disk_list(out, layout);
    else if (layout->disks == DISKS_POOL)
        fprintf(out, " on pool:%s", layout->pool);
    else if (layout->disks == DISKS_ALL)
        fputs(" on all", out);
    if (layout->copies > 1)
        fprintf(out, " copies %" PRIu32, layout->copies);
}

char *layout_canonical(const struct layout *layout)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    if (out == NULL)
        return NULL;
    layout_print(out, layout);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

void layout_error_print(FILE *out, const struct layout_error *error)
{
    if (error->line > 0)
        fprintf(out, "line %zu, ", error->line);
    fprintf(out, "column %zu: %s", error->column, error->why);
}
