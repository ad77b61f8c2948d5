/* SPDX-License-Identifier: MIT */
#include "fs/ctl/think/declare.h"

#include "fs/ctl/think/section_read.h"
#include "layout/layout.h"

/* What one process asks for, and how often. */
struct declared {
    struct nest *nest;
    uint64_t times;
};

struct declaration {
    struct declared *declared;
    size_t n;
};

static void declaration_done(struct declaration *declaration)
{
    for (size_t i = 0; declaration->declared != NULL && i < declaration->n; i++)
        nest_free(declaration->declared[i].nest);
    free(declaration->declared);
}

/* Reads SECTION or SECTION*TIMES. */
static int read_one(const char *text, const struct array *array, const char *array_text, struct declared *ret_declared,
                    char why[static ATTRS_WHY])
{
    cleanup(freep) char *copy = strdup(text);
    char *times = copy != NULL ? strchr(copy, '*') : NULL;
    struct declared declared = { .times = 1 };
    int r;

    if (copy == NULL)
        return attrs_refuse(why, -ENOMEM, "out of memory");
    if (times != NULL)
        *times++ = 0;
    if (times != NULL &&
        (layout_parse_size(times, &declared.times) < 0 || declared.times == 0 || declared.times > DECLARE_MAX_TIMES))
        return attrs_refuse(why, -EINVAL, "--section %s: behind * stands how often it is asked for, from 1 to %d", text,
                            DECLARE_MAX_TIMES);
    r = section_read(copy, array, array_text, &declared.nest, why);
    if (r == 0 && declared.nest->size == 0)
        r = attrs_refuse(why, -EINVAL, "--section %s has no elements", text);
    if (r == 0)
        *ret_declared = declared;
    else
        nest_free(declared.nest);
    return r;
}

/* One process asks once. */
static int ask(struct touches *touches, uint32_t rank, const struct nest *nest, bool writes)
{
    uint64_t at = touches->accesses++, len;

    for (uint64_t k = 0; k < nest->size; k += len) {
        uint64_t off = nest_select_run(nest, k, &len);

        if (touches->n == TOUCH_MAX)
            return -E2BIG;
        if (!array_grow(touches->touch, touches->n))
            return -ENOMEM;
        touches->touch[touches->n++] = (struct touch){ off, off + len, at, rank, writes, true };
        touches->end = MAX(touches->end, off + len);
    }
    *(writes ? &touches->bytes_written : &touches->bytes_read) += nest->size;
    return 0;
}

/* Everybody asks once, then those who ask again, and so on. */
static int ask_all(const struct declaration *declaration, bool writes, struct touches *touches)
{
    size_t asked = 1;
    int r = 0;

    touches->n_ranks = (uint32_t) declaration->n;
    for (uint64_t i = 0; r == 0 && asked > 0; i++) {
        asked = 0;
        for (uint32_t rank = 0; r == 0 && rank < declaration->n; rank++) {
            if (declaration->declared[rank].times <= i)
                continue;
            if (i == 0) {
                touches->process[rank] = TRACE_NOBODY;
                touches->first[rank] = touches->n;
            }
            asked++;
            r = ask(touches, rank, declaration->declared[rank].nest, writes);
        }
    }
    return r;
}

static int make_touches(struct touches *touches, char *const section[], size_t n, const struct array *array,
                        const char *array_text, bool writes, char ret_why[static ATTRS_WHY])
{
    cleanup(declaration_done) struct declaration declaration = { calloc(n, sizeof *declaration.declared), n };
    int r = 0;

    *touches = (struct touches){ .process = malloc(n * sizeof *touches->process),
                                 .first = malloc(n * sizeof *touches->first) };
    if (declaration.declared == NULL || touches->process == NULL || touches->first == NULL)
        r = attrs_refuse(ret_why, -ENOMEM, "out of memory");
    for (size_t i = 0; r == 0 && i < n; i++)
        r = read_one(section[i], array, array_text, &declaration.declared[i], ret_why);
    if (r == 0 && (r = ask_all(&declaration, writes, touches)) < 0)
        (void) attrs_refuse(ret_why, r, "%s",
                            r == -E2BIG ? "the sections have too many pieces: ask for them less often" : strerror(-r));
    if (r < 0)
        touches_done(touches);
    return r;
}

int declare_profile(struct profile *profile, char *const section[], size_t n, bool writes, struct traced_file *file,
                    const struct profile_options *options, char ret_why[static ATTRS_WHY])
{
    cleanup(touches_done) struct touches touches = { 0 };
    struct layout_error error = { 0 };
    char type[LAYOUT_MAX_TYPE];
    struct array array;
    uint64_t bytes;
    int r;

    if (options->array == NULL)
        return attrs_refuse(ret_why, -EINVAL,
                            "--section is of an array: --array says which, or user.falls.array of a file on a mount");
    if (layout_parse_array(options->array, strlen(options->array), &array, type, &error) < 0 ||
        array_bytes(&array, &bytes) < 0)
        return attrs_refuse(ret_why, -EINVAL, "--array %s: column %zu: %s", options->array, error.column, error.why);
    file->size = MAX(file->size, array.header + bytes);
    r = make_touches(&touches, section, n, &array, options->array, writes, ret_why);
    return r < 0 ? r : profile_init_of(profile, file, &touches, options, ret_why);
}
