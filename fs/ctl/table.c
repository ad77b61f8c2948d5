/* SPDX-License-Identifier: MIT */
#include "fs/ctl/table.h"

#include "fs/ctl/utf8.h"

#include <stdarg.h>
#include <string.h>

void table_init(struct table *table, const char *align)
{
    *table = (struct table){ .align = align, .n_columns = strlen(align) };
}

void table_done(struct table *table)
{
    for (size_t i = 0; i < table->n_cells; i++)
        free(table->cell[i]);
    free(table->cell);
}

static void take(struct table *table, char *text)
{
    if (table->n_cells == table->room) {
        size_t room = 2 * table->room + 64;
        char **cell = realloc(table->cell, room * sizeof(char *));

        if (cell == NULL) {
            free(text);
            table->failed = true;
            return;
        }
        table->cell = cell;
        table->room = room;
    }
    for (char *c = text; *c != 0; c++)
        if ((unsigned char) *c < ' ' || *c == 127)
            *c = '?';
    table->cell[table->n_cells++] = text;
}

void table_add(struct table *table, const char *text)
{
    char *copy = strdup(text);

    if (copy == NULL)
        table->failed = true;
    else
        take(table, copy);
}

void table_addf(struct table *table, const char *fmt, ...)
{
    va_list list;
    char *text;
    int n;

    va_start(list, fmt);
    n = vasprintf(&text, fmt, list);
    va_end(list);
    if (n < 0)
        table->failed = true;
    else
        take(table, text);
}

/* Characters, not bytes. */
static size_t width_of(const char *text)
{
    size_t width = 0;

    for (; *text != 0; width++)
        text += MAX(utf8_len(text), 1);
    return width;
}

int table_print(const struct table *table, FILE *out)
{
    size_t width[TABLE_MAX_COLUMNS] = { 0 };

    if (table->failed)
        return -ENOMEM;
    for (size_t i = 0; i < table->n_cells; i++)
        width[i % table->n_columns] = MAX(width[i % table->n_columns], width_of(table->cell[i]));
    for (size_t i = 0; i < table->n_cells; i++) {
        size_t column = i % table->n_columns, pad = width[column] - width_of(table->cell[i]);
        bool last = column + 1 == table->n_columns;

        if (table->align[column] == 'r')
            fprintf(out, "%*s%s", (int) pad, "", table->cell[i]);
        else
            fprintf(out, "%s%*s", table->cell[i], last ? 0 : (int) pad, "");
        fputs(last ? "\n" : "  ", out);
    }
    return 0;
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
