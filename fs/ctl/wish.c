/* SPDX-License-Identifier: MIT */
#include "fs/ctl/wish.h"

#include "fs/ctl/laid.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char wish_help[] =
    "  -L LAYOUT      in the notation of fallsfs-layout(7)\n"
    "  --like PATH    that of another file, or that of a directory for new files\n"
    "  -S SIZE        stripes of so many bytes, 1M unless told\n"
    "  -c N           over N disks; else over all\n"
    "  --array SHAPE:TYPE:DIST[:GRID]\n"
    "                 an array, divided as 8192x8192:f8:block,block:2x2 or 100x100:f4:*,cyclic(4):1x2; also notes\n"
    "                 in user.falls.array what the bytes mean\n"
    "  --disp SIZE    behind a header of so many bytes\n"
    "  -i DISK        on disks from this one on, as d2\n"
    "  -p POOL        on the disks of a pool\n";

void wish_args(struct wish *wish, struct arg arg[static WISH_ARGS])
{
    const struct arg all[WISH_ARGS] = {
        { .name = "-L", .other = "--layout", .value = &wish->text },
        { .name = "--like", .value = &wish->like },
        { .name = "-S", .other = "--stripe-size", .value = &wish->unit },
        { .name = "-c", .other = "--stripe-count", .value = &wish->count },
        { .name = "-i", .other = "--first-disk", .value = &wish->first },
        { .name = "-p", .other = "--pool", .value = &wish->pool },
        { .name = "--array", .value = &wish->array },
        { .name = "--disp", .value = &wish->disp },
    };

    memcpy(arg, all, sizeof all);
}

/* -- parts -- */

static int print_stripe(const struct wish *wish, FILE *out, uint64_t *ret_n, char why[static ATTRS_WHY])
{
    uint64_t unit = UINT64_C(1) << 20;

    *ret_n = 0;
    if (wish->unit != NULL && (layout_parse_size(wish->unit, &unit) < 0 || unit == 0))
        return attrs_refuse(why, -EINVAL, "-S %s is no size, as in 64K or 4M", wish->unit);
    if (wish->count != NULL && (layout_parse_size(wish->count, ret_n) < 0 || *ret_n == 0))
        return attrs_refuse(why, -EINVAL, "-c %s is no number of disks from 1 on", wish->count);
    fputs("stripe(", out);
    layout_print_size(out, unit);
    if (*ret_n > 0)
        fprintf(out, ",%" PRIu64, *ret_n);
    fputc(')', out);
    return 0;
}

/* SHAPE:TYPE:DIST[:GRID] */
static int print_array(const struct wish *wish, FILE *out, FILE *meaning, uint64_t *ret_n, char why[static ATTRS_WHY])
{
    cleanup(freep) char *copy = strdup(wish->array), *text = NULL;
    char *part[4] = { NULL }, *rest = copy, type[LAYOUT_MAX_TYPE];
    struct layout_error error;
    struct array array;
    size_t n = 0;
    int len;

    *ret_n = 0;
    while (copy != NULL && rest != NULL && n < ARRAY_SIZE(part))
        part[n++] = strsep(&rest, ":");
    if (n < 3 || rest != NULL)
        return attrs_refuse(
            why, -EINVAL, "--array %s is not SHAPE:TYPE:DIST[:GRID], as in 8192x8192:f8:block,block:2x2", wish->array);
    len = asprintf(&text, "shape=%s type=%s header=%s", part[0], part[1], wish->disp != NULL ? wish->disp : "0");
    if (len < 0)
        return attrs_refuse(why, -EINVAL, "out of memory");
    if (layout_parse_array(text, (size_t) len, &array, type, &error) < 0)
        return attrs_refuse(why, -EINVAL, "--array %s: in '%s', column %zu: %s", wish->array, text, error.column,
                            error.why);
    fprintf(out, "array(shape=%s, elem=%" PRIu64 ", dist=(%s)", part[0], array.elem, part[2]);
    if (part[3] != NULL)
        fprintf(out, ", grid=%s", part[3]);
    fputc(')', out);
    fprintf(meaning, "shape=%s elem=%" PRIu64 " type=%s order=row header=%" PRIu64, part[0], array.elem, type,
            array.header);
    return 0;
}

/* n disks from the first on, all when n is 0; behind the last comes d0. */
static int print_disks(const struct wish *wish, FILE *out, const char *path, uint64_t n, char why[static ATTRS_WHY])
{
    cleanup(laid_done) struct laid laid = { 0 };
    uint64_t first;
    int r;

    if (wish->first[0] != 'd' || layout_parse_size(wish->first + 1, &first) < 0)
        return attrs_refuse(why, -EINVAL, "-i %s is no disk, as d2", wish->first);
    r = laid_init(&laid, path, why);
    if (r < 0)
        return r;
    if (first >= laid.n_disks || n > laid.n_disks)
        return attrs_refuse(why, -EINVAL, "the volume has d0 to d%" PRIu32, laid.n_disks - 1);
    n = n == 0 ? laid.n_disks : n;
    fprintf(out, " on d%" PRIu64, first);
    if (first + n > laid.n_disks) {
        if (first + 1 < laid.n_disks)
            fprintf(out, "-d%" PRIu32, laid.n_disks - 1);
        fputs(",d0", out);
        n = first + n - laid.n_disks;
        first = 0;
    }
    if (n > 1)
        fprintf(out, "-d%" PRIu64, first + n - 1);
    return 0;
}

/* -- the whole -- */

int wish_check(const struct wish *wish, char why[static ATTRS_WHY])
{
    bool parts =
        wish->unit != NULL || wish->count != NULL || wish->first != NULL || wish->pool != NULL || wish->disp != NULL;
    int n = (wish->text != NULL) + (wish->like != NULL) + (parts || wish->array != NULL);

    if (n == 0)
        return attrs_refuse(why, -EINVAL, "which layout? -L LAYOUT, --like PATH, -S SIZE, -c N or --array say so");
    if (n > 1)
        return attrs_refuse(why, -EINVAL,
                            "a layout is said with -L, with --like or with the other options, not with two of these");
    if (wish->array != NULL && (wish->unit != NULL || wish->count != NULL))
        return attrs_refuse(why, -EINVAL, "--array says how many bytes go where: leave out -S and -c");
    if (wish->first != NULL && wish->pool != NULL)
        return attrs_refuse(why, -EINVAL, "-i and -p both say which disks: leave one out");
    return 0;
}

static int put_together(const struct wish *wish, const char *path, FILE *out, FILE *meaning, char why[static ATTRS_WHY])
{
    uint64_t n;
    int r = wish->array != NULL ? print_array(wish, out, meaning, &n, why) : print_stripe(wish, out, &n, why);

    if (r == 0 && wish->disp != NULL)
        fprintf(out, " disp %s", wish->disp);
    if (r == 0 && wish->pool != NULL)
        fprintf(out, " on pool:%s", wish->pool);
    if (r == 0 && wish->first != NULL)
        r = print_disks(wish, out, path, n, why);
    return r;
}

static int find_like(const struct wish *wish, char **ret_layout, char **ret_array, char why[static ATTRS_WHY])
{
    cleanup(laid_done) struct laid laid = { 0 };
    char whys[ATTRS_WHY];
    int r = laid_init(&laid, wish->like, whys);

    if (r < 0)
        return attrs_refuse(why, -EINVAL, "--like %s: %.500s", wish->like, whys);
    *ret_layout = steal(laid.text);
    *ret_array = steal(laid.array_text);
    return 0;
}

/* What is wrong with a layout in itself is said without asking a mount. */
static int check_text(const char *text, char why[static ATTRS_WHY])
{
    cleanup(layout_freep) struct layout *layout = NULL;
    struct layout_error error;

    if (layout_parse(text, strlen(text), 0, &layout, &error) == 0)
        return 0;
    return error.line > 0 ? attrs_refuse(why, -EINVAL, "line %zu, column %zu: %s", error.line, error.column, error.why)
                          : attrs_refuse(why, -EINVAL, "column %zu: %s", error.column, error.why);
}

int wish_find(const struct wish *wish, const char *path, char **ret_layout, char **ret_array,
              char ret_why[static ATTRS_WHY])
{
    cleanup(freep) char *layout = NULL, *array = NULL;
    size_t len, array_len;
    FILE *out, *meaning;
    int r = 0;

    *ret_array = NULL;
    if (wish->like != NULL)
        return find_like(wish, ret_layout, ret_array, ret_why);
    out = open_memstream(&layout, &len);
    meaning = open_memstream(&array, &array_len);
    if (out == NULL || meaning == NULL)
        r = attrs_refuse(ret_why, -EINVAL, "out of memory");
    else if (wish->text != NULL)
        fputs(wish->text, out);
    else
        r = put_together(wish, path, out, meaning, ret_why);
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
