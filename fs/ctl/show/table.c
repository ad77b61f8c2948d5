/* SPDX-License-Identifier: MIT */
#include "fs/ctl/show/table.h"

#include "fs/json/utf8.h"

#include <libsmartcols/libsmartcols.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>

/* -- which columns -- */

void table_args(struct table_options *options, struct arg arg[static TABLE_ARGS])
{
    arg[0] = (struct arg){ .name = "-o", .other = "--output", .value = &options->columns };
    arg[1] = (struct arg){ .name = "--noheadings", .set = &options->no_headings };
    arg[2] = (struct arg){ .name = "--raw", .set = &options->raw };
}

static bool has_name(const struct column *column, const char *name, size_t len)
{
    return strlen(column->name) == len && strncasecmp(column->name, name, len) == 0;
}

static bool is_shown(const struct table *table, size_t column)
{
    for (size_t i = 0; i < table->n_shown; i++)
        if (table->shown[i] == column)
            return true;
    return false;
}

/* Shows the columns that the list names, too: all columns of each name; once: not those that are shown already. False:
 * a name is no column's, or they are too many. */
static bool choose(struct table *table, const char *list, bool once)
{
    for (size_t len; *list != 0; list += len + (list[len] == ',')) {
        bool found = false;

        len = strcspn(list, ",");
        for (size_t i = 0; i < table->n_columns; i++) {
            if (!has_name(&table->column[i], list, len))
                continue;
            found = true;
            if (once && is_shown(table, i))
                continue;
            if (table->n_shown == TABLE_MAX_SHOWN)
                return false;
            table->shown[table->n_shown++] = i;
        }
        if (!found)
            return false;
    }
    return true;
}

static bool choose_all(struct table *table, const char *usual, const char *wanted)
{
    table->n_shown = 0;
    if (wanted == NULL || wanted[0] == '+') {
        if (usual != NULL && !choose(table, usual, false))
            return false;
        for (size_t i = 0; usual == NULL && i < MIN(table->n_columns, TABLE_MAX_SHOWN); i++)
            table->shown[table->n_shown++] = i;
    }
    return wanted == NULL || choose(table, wanted[0] == '+' ? wanted + 1 : wanted, wanted[0] == '+');
}

bool table_check(const struct table_options *options, const char *verb, const struct column column[], size_t n_columns,
                 enum ctl_status *ret_status)
{
    struct table table = { .column = column, .n_columns = n_columns };
    cleanup(freep) char *why = NULL;
    size_t len;
    FILE *out;

    if (choose_all(&table, NULL, options->columns) && table.n_shown > 0)
        return true;
    out = open_memstream(&why, &len);
    if (out != NULL) {
        fputs("-o takes a list of columns, which are ", out);
        for (size_t i = 0; i < n_columns; i++)
            fprintf(out, "%s%s", i > 0 ? "," : "", column[i].name);
        fclose(out);
    }
    *ret_status = args_complain(verb, why != NULL ? why : "out of memory", options->columns);
    return false;
}

/* -- a table -- */

static bool add_columns(struct table *table)
{
    for (size_t i = 0; i < table->n_shown; i++) {
        const struct column *column = &table->column[table->shown[i]];
        int flags = column->kind == COLUMN_RIGHT ? SCOLS_FL_RIGHT : column->kind == COLUMN_CUT ? SCOLS_FL_TRUNC : 0;

        if (scols_table_new_column(table->scols, column->name, 0, flags) == NULL)
            return false;
    }
    return true;
}

void table_init(struct table *table, const struct column column[], size_t n_columns, const char *usual,
                const struct table_options *options)
{
    *table = (struct table){ .column = column,
                             .n_columns = n_columns,
                             .raw = options != NULL && options->raw,
                             .has_headings = options == NULL || !options->no_headings,
                             .scols = scols_new_table() };
    /* A verb that has not asked table_check may show fewer columns than the list names, which does no harm. */
    (void) choose_all(table, usual, options != NULL ? options->columns : NULL);
    if (table->scols == NULL || !add_columns(table)) {
        table->failed = true;
        return;
    }
    (void) scols_table_enable_raw(table->scols, table->raw);
    (void) scols_table_enable_noheadings(table->scols, !table->has_headings);
    (void) scols_table_enable_noencoding(table->scols, true); /* our own cells are harmless already */
    if (!table->raw)
        (void) scols_table_set_column_separator(table->scols, "  ");
}

void table_done(struct table *table)
{
    scols_unref_table(table->scols);
    table->scols = NULL;
}

/* Fills the next cell with a text, and takes it; NULL says that there was no memory for it. */
static void take(struct table *table, char *text)
{
    if (table->at == 0 && !table->failed)
        table->line = scols_table_new_line(table->scols, NULL);
    table->failed |= text == NULL || table->line == NULL;
    for (size_t i = 0; !table->failed && i < table->n_shown; i++)
        if (table->shown[i] == table->at)
            table->failed = scols_line_set_data(table->line, i, table->raw && text[0] == 0 ? "-" : text) < 0;
    table->at = (table->at + 1) % table->n_columns;
    free(text);
}

void table_add(struct table *table, const char *text)
{
    take(table, utf8_shown(text));
}

void table_addf(struct table *table, const char *fmt, ...)
{
    va_list list;
    char *text;

    va_start(list, fmt);
    if (vasprintf(&text, fmt, list) < 0)
        text = NULL;
    va_end(list);
    if (text != NULL)
        utf8_tame(text);
    take(table, text);
}

/* Prints the headings of a table without rows, of which libsmartcols prints nothing at all. */
static void print_headings(const struct table *table, FILE *out)
{
    for (size_t i = 0; i < table->n_shown; i++)
        fprintf(out, "%s%s", i == 0 ? "" : table->raw ? " " : "  ", table->column[table->shown[i]].name);
    fputc('\n', out);
}

int table_print(struct table *table, FILE *out)
{
    if (table->failed)
        return -ENOMEM;
    if (scols_table_is_empty(table->scols)) {
        if (table->has_headings)
            print_headings(table, out);
        return 0;
    }
    (void) scols_table_set_stream(table->scols, out);
    return scols_print_table(table->scols);
}

const char *size_text(uint64_t bytes, bool raw, char text[static SIZE_TEXT])
{
    static const char unit[] = "KMGTPE";
    double value = (double) bytes;
    int i = -1;

    while (!raw && value >= 1024 && i < 5) {
        value /= 1024;
        i++;
    }
    if (i < 0)
        snprintf(text, SIZE_TEXT, "%" PRIu64, bytes);
    else
        snprintf(text, SIZE_TEXT, value < 10 ? "%.1f%c" : "%.0f%c", value, unit[i]);
    return text;
}
