/* SPDX-License-Identifier: MIT */
#include "fs/trace/trace.h"

#include "fs/trace/trace_read.h"
#include "fs/trace/trace_strace.h"

#include <assert.h>
#include <stdarg.h>

int trace_refuse(char why[static TRACE_WHY], int r, const char *fmt, ...)
{
    va_list list;

    va_start(list, fmt);
    vsnprintf(why, TRACE_WHY, fmt, list);
    va_end(list);
    return r;
}

void trace_done(struct trace *trace)
{
    for (size_t i = 0; i < trace->n_files; i++) {
        free(trace->file[i].path);
        free(trace->file[i].layout);
    }
    for (size_t i = 0; i < trace->n_processes; i++)
        free(trace->process[i].name);
    for (size_t i = 0; i < trace->n_patterns; i++)
        free(trace->pattern[i].text);
    free(trace->file);
    free(trace->process);
    free(trace->pattern);
    free(trace->access);
    *trace = (struct trace){ 0 };
}

int trace_add_file(struct trace *trace, struct traced_file file)
{
    if (file.path == NULL || file.layout == NULL || !array_grow(trace->file, trace->n_files)) {
        free(file.path);
        free(file.layout);
        return -ENOMEM;
    }
    trace->file[trace->n_files++] = file;
    return 0;
}

int trace_add_process(struct trace *trace, struct traced_process process)
{
    if (process.name == NULL || !array_grow(trace->process, trace->n_processes)) {
        free(process.name);
        return -ENOMEM;
    }
    trace->process[trace->n_processes++] = process;
    return 0;
}

int trace_add_pattern(struct trace *trace, struct traced_pattern pattern)
{
    if (pattern.text == NULL || !array_grow(trace->pattern, trace->n_patterns)) {
        free(pattern.text);
        return -ENOMEM;
    }
    trace->pattern[trace->n_patterns++] = pattern;
    return 0;
}

int trace_add_access(struct trace *trace, const struct traced_access *access)
{
    if (trace->n_accesses == TRACE_MAX_ACCESSES)
        return -E2BIG;
    if (!array_grow(trace->access, trace->n_accesses))
        return -ENOMEM;
    trace->access[trace->n_accesses++] = *access;
    return 0;
}

/* -- numbers to indices -- */

/* Files, processes and patterns begin with their numbers, so one order and one search serve all. */
static_assert(offsetof(struct traced_file, number) == 0 && offsetof(struct traced_process, number) == 0 &&
                  offsetof(struct traced_pattern, number) == 0,
              "the number comes first");

struct numbered {
    const void *item;
    size_t n, size;
    const char *name;
};

static uint32_t number_at(const struct numbered *all, size_t i)
{
    uint32_t number;

    memcpy(&number, (const char *) all->item + i * all->size, sizeof number);
    return number;
}

static int by_number(const void *a, const void *b)
{
    uint32_t x, y;

    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x < y ? -1 : x > y;
}

static int check_numbers(const struct numbered *all, char why[static TRACE_WHY])
{
    for (size_t i = 0; i < all->n; i++)
        if (number_at(all, i) == 0 || (i > 0 && number_at(all, i) == number_at(all, i - 1)))
            return trace_refuse(why, -EBADMSG, "%s %" PRIu32 " is introduced twice, or has no number", all->name,
                                number_at(all, i));
    return 0;
}

static int find_index(const struct numbered *all, uint32_t *number, char why[static TRACE_WHY])
{
    const char *found;

    if (*number == 0) {
        *number = TRACE_NOBODY;
        return 0;
    }
    if (*number <= all->n && number_at(all, *number - 1) == *number) { /* without gaps, as nearly always */
        *number -= 1;
        return 0;
    }
    found = all->n > 0 ? bsearch(number, all->item, all->n, all->size, by_number) : NULL;
    if (found == NULL)
        return trace_refuse(why, -EBADMSG, "an access names %s %" PRIu32 ", which was not introduced", all->name,
                            *number);
    *number = (uint32_t) ((size_t) (found - (const char *) all->item) / all->size);
    return 0;
}

static void sort_numbered(void *items, size_t n, size_t size)
{
    if (n > 1)
        qsort(items, n, size, by_number);
}

int trace_resolve(struct trace *trace, char ret_why[static TRACE_WHY])
{
    const struct numbered files = { trace->file, trace->n_files, sizeof *trace->file, "file" };
    const struct numbered processes = { trace->process, trace->n_processes, sizeof *trace->process, "process" };
    const struct numbered patterns = { trace->pattern, trace->n_patterns, sizeof *trace->pattern, "pattern" };
    int r;

    sort_numbered(trace->file, trace->n_files, sizeof *trace->file);
    sort_numbered(trace->process, trace->n_processes, sizeof *trace->process);
    sort_numbered(trace->pattern, trace->n_patterns, sizeof *trace->pattern);
    r = check_numbers(&files, ret_why);
    if (r == 0)
        r = check_numbers(&processes, ret_why);
    if (r == 0)
        r = check_numbers(&patterns, ret_why);
    for (size_t i = 0; r == 0 && i < trace->n_accesses; i++) {
        struct traced_access *access = &trace->access[i];

        r = find_index(&files, &access->file, ret_why);
        if (r == 0)
            r = find_index(&processes, &access->process, ret_why);
        if (r == 0)
            r = find_index(&patterns, &access->pattern, ret_why);
    }
    return r;
}

int trace_load(FILE *in, struct trace *ret_trace, char ret_why[static TRACE_WHY])
{
    struct trace trace = { 0 };
    int first = getc(in), r;

    if (first == EOF)
        return trace_refuse(ret_why, ferror(in) ? -EIO : -EBADMSG, "%s",
                            ferror(in) ? "cannot be read" : "is empty: nothing was traced");
    ungetc(first, in);
    if (first == TRACE_MAGIC[0])
        r = trace_read(in, &trace, ret_why);
    else
        r = trace_read_strace(in, &trace, ret_why);
    if (r == 0)
        r = trace_resolve(&trace, ret_why);
    if (r < 0)
        trace_done(&trace);
    else
        *ret_trace = trace;
    return r;
}
