/* SPDX-License-Identifier: MIT */
#include "fs/ctl/advice.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_PARTS 1024 /* of a dimension; more subfiles cost more than they bring */

/* The search so far. */
struct search {
    uint32_t n_disks;
    const struct nest *wanted;
    const struct store_cost *cost;
    const uint32_t *disk; /* of element i: i mod n_disks */
    struct advice best;
};

void advice_done(struct advice *advice)
{
    free(advice->text);
    layout_free(advice->layout);
}

static uint64_t takes(const struct access *access)
{
    return access->ns + access->work / 8;
}

bool access_is_worth(const struct access *a, const struct access *instead_of)
{
    return takes(a) + takes(a) / 10 < takes(instead_of);
}

/* Whether a takes less than b: time, and somewhat also the work of all disks, which others wait for; then requests,
 * then what is read for nothing. */
static bool access_is_less(const struct access *a, const struct access *b)
{
    uint64_t a_takes = takes(a), b_takes = takes(b);

    if (a_takes != b_takes)
        return a_takes < b_takes;
    return a->requests != b->requests ? a->requests < b->requests : a->read < b->read;
}

/* Takes the text. What is no layout, or has no short description together with what is wanted, is not for us. */
static int try_text(struct search *search, char *text)
{
    struct advice one = { .text = text };
    struct layout_error error;
    int r = text == NULL ? -ENOMEM : layout_parse(text, strlen(text), search->n_disks, &one.layout, &error);

    if (r == 0)
        r = access_count(one.layout->pattern, search->disk, 0, search->wanted, search->cost, &one.access);
    if (r == 0 && (search->best.text == NULL || access_is_less(&one.access, &search->best.access))) {
        struct advice before = search->best;

        search->best = one;
        one = before;
    }
    advice_done(&one);
    return r == -ENOMEM ? r : 0;
}

PRINTF_LIKE(1, 2) static char *text_of(const char *fmt, ...)
{
    char *text;
    va_list list;
    int n;

    va_start(list, fmt);
    n = vasprintf(&text, fmt, list);
    va_end(list);
    return n < 0 ? NULL : text;
}

static int try_stripes(struct search *search, uint64_t disp)
{
    static const char *const unit[] = { "1M", "64K", "256K", "4M" };
    char behind[40] = "";
    int r;

    if (disp > 0)
        snprintf(behind, sizeof behind, " disp %" PRIu64, disp);
    r = try_text(search, text_of("one%s", behind));
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(unit); i++)
        r = try_text(search, text_of("stripe(%s,%" PRIu32 ")%s", unit[i], search->n_disks, behind));
    return r;
}

/* dist and grid of each dimension; a grid of 1 does not divide it. */
static char *array_text(const struct array *array, const char *kind, const uint64_t grid[])
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    if (out == NULL)
        return NULL;
    fputs("array(shape=", out);
    for (uint32_t i = 0; i < array->ndims; i++)
        fprintf(out, "%s%" PRIu64, i > 0 ? "x" : "", array->size[i]);
    fprintf(out, ", elem=%" PRIu64 "%s, dist=(", array->elem, array->order == ARRAY_COLUMN_MAJOR ? ", order=col" : "");
    for (uint32_t i = 0; i < array->ndims; i++)
        fprintf(out, "%s%s", i > 0 ? "," : "", grid[i] > 1 ? kind : "*");
    fputs("), grid=", out);
    for (uint32_t i = 0; i < array->ndims; i++)
        fprintf(out, "%s%" PRIu64, i > 0 ? "x" : "", grid[i]);
    fputc(')', out);
    if (array->header > 0)
        fprintf(out, " disp %" PRIu64, array->header);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

static void undivided(const struct array *array, uint64_t grid[])
{
    for (uint32_t i = 0; i < array->ndims; i++)
        grid[i] = 1;
}

static int try_one_dimension(struct search *search, const struct array *array, uint32_t dim)
{
    uint64_t grid[ARRAY_MAX_DIMS], n = array->size[dim];
    int r = 0;

    if (n < 2)
        return 0;
    undivided(array, grid);
    for (uint64_t parts = search->n_disks; r == 0; parts *= 4) {
        grid[dim] = MIN(MIN(parts, n), MAX(MAX_PARTS, search->n_disks));
        r = try_text(search, array_text(array, "cyclic", grid));
        if (r == 0)
            r = try_text(search, array_text(array, "block", grid));
        if (grid[dim] < parts || grid[dim] == n)
            break;
    }
    return r;
}

static int try_two_dimensions(struct search *search, const struct array *array, uint32_t a, uint32_t b)
{
    uint64_t grid[ARRAY_MAX_DIMS];
    int r = 0;

    for (uint64_t n = 2; r == 0 && n <= search->n_disks / 2; n++) {
        if (search->n_disks % n != 0 || n > array->size[a] || search->n_disks / n > array->size[b])
            continue;
        undivided(array, grid);
        grid[a] = n;
        grid[b] = search->n_disks / n;
        r = try_text(search, array_text(array, "block", grid));
    }
    return r;
}

static int try_array(struct search *search, const struct array *array)
{
    int r = 0;

    for (uint32_t dim = 0; r == 0 && dim < array->ndims; dim++)
        r = try_one_dimension(search, array, dim);
    for (uint32_t a = 0; r == 0 && a < array->ndims; a++)
        for (uint32_t b = a + 1; r == 0 && b < array->ndims; b++)
            r = try_two_dimensions(search, array, a, b);
    return r;
}

int advice_find(const struct array *array, const char *asked, uint32_t n_disks, const struct nest *wanted,
                const struct store_cost *cost, struct advice *ret_advice)
{
    cleanup(freep) uint32_t *disk = calloc(FALLS_MAX_NODES, sizeof *disk);
    struct search search = { .n_disks = n_disks, .wanted = wanted, .cost = cost, .disk = disk };
    int r = disk == NULL ? -ENOMEM : 0;

    for (uint32_t i = 0; r == 0 && i < FALLS_MAX_NODES; i++)
        disk[i] = i % n_disks;
    if (r == 0)
        r = try_stripes(&search, array != NULL ? array->header : 0);
    if (r == 0 && asked != NULL)
        r = try_text(&search, strdup(asked));
    if (r == 0 && array != NULL)
        r = try_array(&search, array);
    if (r == 0 && search.best.text == NULL)
        r = -E2BIG;
    if (r < 0)
        advice_done(&search.best);
    else
        *ret_advice = search.best;
    return r;
}
