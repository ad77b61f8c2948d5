/* SPDX-License-Identifier: MIT */
#include "fs/ctl/think/candidates.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_PARTS 1024 /* of a dimension; more subfiles cost more than they bring */

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

int candidates_stripes(uint64_t disp, uint32_t n_disks, candidate_take *take, void *ctx)
{
    static const char *const unit[] = { "1M", "64K", "256K", "4M" };
    char behind[40] = "";
    int r;

    if (disp > 0)
        snprintf(behind, sizeof behind, " disp %" PRIu64, disp);
    r = take(ctx, text_of("one%s", behind));
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(unit); i++)
        r = take(ctx, text_of("stripe(%s,%" PRIu32 ")%s", unit[i], n_disks, behind));
    return r;
}

/* The layout of an array whose dimensions are each divided by their grid; a grid of 1 does not divide. */
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

static int try_one_dimension(const struct array *array, uint32_t dim, uint32_t n_disks, candidate_take *take, void *ctx)
{
    uint64_t grid[ARRAY_MAX_DIMS], n = array->size[dim];
    int r = 0;

    if (n < 2)
        return 0;
    undivided(array, grid);
    for (uint64_t parts = n_disks; r == 0; parts *= 4) {
        grid[dim] = MIN(MIN(parts, n), MAX(MAX_PARTS, n_disks));
        r = take(ctx, array_text(array, "cyclic", grid));
        if (r == 0)
            r = take(ctx, array_text(array, "block", grid));
        if (grid[dim] < parts || grid[dim] == n)
            break;
    }
    return r;
}

static int try_two_dimensions(const struct array *array, uint32_t a, uint32_t b, uint32_t n_disks, candidate_take *take,
                              void *ctx)
{
    uint64_t grid[ARRAY_MAX_DIMS];
    int r = 0;

    for (uint64_t n = 2; r == 0 && n <= n_disks / 2; n++) {
        if (n_disks % n != 0 || n > array->size[a] || n_disks / n > array->size[b])
            continue;
        undivided(array, grid);
        grid[a] = n;
        grid[b] = n_disks / n;
        r = take(ctx, array_text(array, "block", grid));
    }
    return r;
}

int candidates_array(const struct array *array, uint32_t n_disks, candidate_take *take, void *ctx)
{
    int r = 0;

    for (uint32_t dim = 0; r == 0 && dim < array->ndims; dim++)
        r = try_one_dimension(array, dim, n_disks, take, ctx);
    for (uint32_t a = 0; r == 0 && a < array->ndims; a++)
        for (uint32_t b = a + 1; r == 0 && b < array->ndims; b++)
            r = try_two_dimensions(array, a, b, n_disks, take, ctx);
    return r;
}

char *candidates_keep_copies(char *text, const struct layout *now)
{
    static const char copies[] = " copies 2";
    cleanup(freep) char *bare = text;
    size_t len = text != NULL ? strlen(text) : 0;

    if (text == NULL || now == NULL || now->copies < 2 ||
        (len >= strlen(copies) && strcmp(text + len - strlen(copies), copies) == 0))
        return steal(bare);
    return text_of("%s%s%s", bare, strchr(bare, '#') != NULL ? "\n" : "", copies);
}
