/* SPDX-License-Identifier: MIT */
#include "fs/ctl/think/layout_options.h"

#include "fs/ctl/ask/file_info.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char layout_options_help[] =
    "  -L LAYOUT      in the notation of fallsfs-layout(7)\n"
    "  --like PATH    that of another file, or that of a directory for new files\n"
    "  -S SIZE        stripes of so many bytes, 1M unless told\n"
    "  -c N           over N disks; else over all\n"
    "  --array SHAPE:TYPE:DIST[:GRID]\n"
    "                 an array, divided as 8192x8192:f8:block,block:2x2 or 100x100:f4:*,cyclic(4):1x2; also notes\n"
    "                 in user.falls.array what the bytes mean\n"
    "  --array DIST[:GRID]\n"
    "                 the array that the file is said to hold already, behind its header, divided so\n"
    "  --disp SIZE    behind a header of so many bytes\n"
    "  -i DISK        on disks from this one on, as d2\n"
    "  -p POOL        on the disks of a pool\n";

void layout_options_args(struct layout_options *asked, struct arg arg[static LAYOUT_OPTIONS_ARGS])
{
    const struct arg all[LAYOUT_OPTIONS_ARGS] = {
        { .name = "-L", .other = "--layout", .value = &asked->text },
        { .name = "--like", .value = &asked->like },
        { .name = "-S", .other = "--stripe-size", .value = &asked->unit },
        { .name = "-c", .other = "--stripe-count", .value = &asked->count },
        { .name = "-i", .other = "--first-disk", .value = &asked->first },
        { .name = "-p", .other = "--pool", .value = &asked->pool },
        { .name = "--array", .value = &asked->array },
        { .name = "--disp", .value = &asked->disp },
    };

    memcpy(arg, all, sizeof all);
}

/* -- parts -- */

static int print_stripe(const struct layout_options *asked, FILE *out, uint64_t *ret_n, char why[static ATTRS_WHY])
{
    uint64_t unit = UINT64_C(1) << 20;

    *ret_n = 0;
    if (asked->unit != NULL && (layout_parse_size(asked->unit, &unit) < 0 || unit == 0))
        return attrs_refuse(why, -EINVAL, "-S %s is no size, as in 64K or 4M", asked->unit);
    if (asked->count != NULL && (layout_parse_size(asked->count, ret_n) < 0 || *ret_n == 0))
        return attrs_refuse(why, -EINVAL, "-c %s is no number of disks from 1 on", asked->count);
    fputs("stripe(", out);
    layout_print_size(out, unit);
    if (*ret_n > 0)
        fprintf(out, ",%" PRIu64, *ret_n);
    fputc(')', out);
    return 0;
}

/* Writes what --array DIST[:GRID] asks for: a layout of the array that the path is said to hold. */
static int print_known(const struct layout_options *asked, const char *path, const char *dist, const char *grid,
                       FILE *out, char why[static ATTRS_WHY])
{
    cleanup(file_info_done) struct file_info info = { 0 };
    const struct array *array = &info.array;
    int r = file_info_init(&info, path, why);

    if (r < 0)
        return r;
    if (info.array_text == NULL)
        return attrs_refuse(
            why, -EINVAL,
            "--array %s: nobody has said what array this is: 'fallsctl array set' reads it from headers, or "
            "name it, as in 8192x8192:f8:block,block:2x2",
            asked->array);
    for (uint32_t i = 0; i < array->ndims; i++)
        fprintf(out, "%s%" PRIu64, i == 0 ? "array(shape=" : "x", array->size[i]);
    fprintf(out, ", elem=%" PRIu64 ", ", array->elem);
    if (array->order == ARRAY_COLUMN_MAJOR)
        fputs("order=col, ", out);
    fprintf(out, "dist=(%s)", dist);
    if (grid != NULL)
        fprintf(out, ", grid=%s", grid);
    fputc(')', out);
    if (array->header > 0 && asked->disp == NULL)
        fprintf(out, " disp %" PRIu64, array->header);
    return 0;
}

/* Writes what --array SHAPE:TYPE:DIST[:GRID] asks for: the layout to out, what the bytes mean to meaning. */
static int print_array(const struct layout_options *asked, const char *path, FILE *out, FILE *meaning, uint64_t *ret_n,
                       char why[static ATTRS_WHY])
{
    cleanup(freep) char *copy = strdup(asked->array), *text = NULL;
    char *part[4] = { NULL }, *rest = copy, type[LAYOUT_MAX_TYPE];
    struct layout_error error;
    struct array array;
    size_t n = 0;
    int len;

    *ret_n = 0;
    while (copy != NULL && rest != NULL && n < ARRAY_SIZE(part))
        part[n++] = strsep(&rest, ":");
    if ((n == 1 || n == 2) && rest == NULL && (part[0][0] < '0' || part[0][0] > '9'))
        return print_known(asked, path, part[0], part[1], out, why);
    if (n < 3 || rest != NULL)
        return attrs_refuse(
            why, -EINVAL, "--array %s is not SHAPE:TYPE:DIST[:GRID], as in 8192x8192:f8:block,block:2x2", asked->array);
    len = asprintf(&text, "shape=%s type=%s header=%s", part[0], part[1], asked->disp != NULL ? asked->disp : "0");
    if (len < 0)
        return attrs_refuse(why, -EINVAL, "out of memory");
    if (layout_parse_array(text, (size_t) len, &array, type, &error) < 0)
        return attrs_refuse(why, -EINVAL, "--array %s: in '%s', column %zu: %s", asked->array, text, error.column,
                            error.why);
    fprintf(out, "array(shape=%s, elem=%" PRIu64 ", dist=(%s)", part[0], array.elem, part[2]);
    if (part[3] != NULL)
        fprintf(out, ", grid=%s", part[3]);
    fputc(')', out);
    layout_print_array(meaning, &array, type);
    return 0;
}

/* Writes n disks from the first one on that is asked for, all when n is 0; behind the volume's last disk comes d0. */
static int print_disks(const struct layout_options *asked, FILE *out, const char *path, uint64_t n,
                       char why[static ATTRS_WHY])
{
    cleanup(file_info_done) struct file_info info = { 0 };
    uint64_t first;
    int r;

    if (asked->first[0] != 'd' || layout_parse_size(asked->first + 1, &first) < 0)
        return attrs_refuse(why, -EINVAL, "-i %s is no disk, as d2", asked->first);
    r = file_info_init(&info, path, why);
    if (r < 0)
        return r;
    if (first >= info.n_disks || n > info.n_disks)
        return attrs_refuse(why, -EINVAL, "the volume has d0 to d%" PRIu32, info.n_disks - 1);
    n = n == 0 ? info.n_disks : n;
    fprintf(out, " on d%" PRIu64, first);
    if (first + n > info.n_disks) {
        if (first + 1 < info.n_disks)
            fprintf(out, "-d%" PRIu32, info.n_disks - 1);
        fputs(",d0", out);
        n = first + n - info.n_disks;
        first = 0;
    }
    if (n > 1)
        fprintf(out, "-d%" PRIu64, first + n - 1);
    return 0;
}

/* -- the whole -- */

int layout_options_check(const struct layout_options *asked, char why[static ATTRS_WHY])
{
    bool parts = asked->unit != NULL || asked->count != NULL || asked->first != NULL || asked->pool != NULL ||
                 asked->disp != NULL;
    int n = (asked->text != NULL) + (asked->like != NULL) + (parts || asked->array != NULL);

    if (n == 0)
        return attrs_refuse(why, -EINVAL, "which layout? -L LAYOUT, --like PATH, -S SIZE, -c N or --array say so");
    if (n > 1)
        return attrs_refuse(why, -EINVAL,
                            "a layout is said with -L, with --like or with the other options, not with two of these");
    if (asked->array != NULL && (asked->unit != NULL || asked->count != NULL))
        return attrs_refuse(why, -EINVAL, "--array says how many bytes go where: leave out -S and -c");
    if (asked->first != NULL && asked->pool != NULL)
        return attrs_refuse(why, -EINVAL, "-i and -p both say which disks: leave one out");
    return 0;
}

static int put_together(const struct layout_options *asked, const char *path, FILE *out, FILE *meaning,
                        char why[static ATTRS_WHY])
{
    uint64_t n;
    int r = asked->array != NULL ? print_array(asked, path, out, meaning, &n, why) : print_stripe(asked, out, &n, why);

    if (r == 0 && asked->disp != NULL)
        fprintf(out, " disp %s", asked->disp);
    if (r == 0 && asked->pool != NULL)
        fprintf(out, " on pool:%s", asked->pool);
    if (r == 0 && asked->first != NULL)
        r = print_disks(asked, out, path, n, why);
    return r;
}

static int find_like(const struct layout_options *asked, char **ret_layout, char **ret_array,
                     char why[static ATTRS_WHY])
{
    cleanup(file_info_done) struct file_info info = { 0 };
    char whys[ATTRS_WHY];
    int r = file_info_init(&info, asked->like, whys);

    if (r < 0)
        return attrs_refuse(why, -EINVAL, "--like %s: %.500s", asked->like, whys);
    *ret_layout = steal(info.text);
    *ret_array = steal(info.array_text);
    return 0;
}

/* Says what is wrong with a layout in itself: no mount need be asked for that. */
static int check_text(const char *text, char why[static ATTRS_WHY])
{
    cleanup(layout_freep) struct layout *layout = NULL;
    struct layout_error error;

    if (layout_parse(text, strlen(text), 0, &layout, &error) == 0)
        return 0;
    return error.line > 0 ? attrs_refuse(why, -EINVAL, "line %zu, column %zu: %s", error.line, error.column, error.why)
                          : attrs_refuse(why, -EINVAL, "column %zu: %s", error.column, error.why);
}

int layout_options_find(const struct layout_options *asked, const char *path, char **ret_layout, char **ret_array,
                        char ret_why[static ATTRS_WHY])
{
    cleanup(freep) char *layout = NULL, *array = NULL;
    size_t len, array_len;
    FILE *out, *meaning;
    int r = 0;

    *ret_array = NULL;
    if (asked->like != NULL)
        return find_like(asked, ret_layout, ret_array, ret_why);
    out = open_memstream(&layout, &len);
    meaning = open_memstream(&array, &array_len);
    if (out == NULL || meaning == NULL)
        r = attrs_refuse(ret_why, -EINVAL, "out of memory");
    else if (asked->text != NULL)
        fputs(asked->text, out);
    else
        r = put_together(asked, path, out, meaning, ret_why);
    if ((out != NULL && fclose(out) != 0) || (meaning != NULL && fclose(meaning) != 0))
        r = attrs_refuse(ret_why, -EINVAL, "out of memory");
    if (r == 0)
        r = check_text(layout, ret_why);
    if (r < 0)
        return r;
    *ret_layout = steal(layout);
    if (array_len > 0)
        *ret_array = steal(array);
    return 0;
}
