/* SPDX-License-Identifier: MIT */
#include "fs/ctl/talk/answer.h"
#include "fs/json/utf8.h"

#include "layout/pattern.h"

#include <stdarg.h>
#include <stdlib.h>

enum ctl_status report(bool as_json, const char *fmt, ...)
{
    char why[512];
    struct json json;
    va_list list;

    va_start(list, fmt);
    vsnprintf(why, sizeof why, fmt, list);
    va_end(list);
    utf8_complain("%s", why);
    if (as_json) {
        json_begin(&json, stdout);
        json_open(&json, "error", '{');
        json_string(&json, "why", why);
        json_close(&json, '}');
        json_end(&json);
    }
    return CTL_ERROR;
}

/* Says what is wrong with a layout, through utf8_complain, since that may quote the layout. */
static void complain_of_layout(const char *which, const struct layout_error *error)
{
    cleanup(freep) char *why = NULL;
    size_t len;
    FILE *out = open_memstream(&why, &len);

    if (out != NULL) {
        layout_error_print(out, error);
        fclose(out);
    }
    utf8_complain("%s%s", which, why != NULL ? why : "out of memory");
}

void report_layout(bool as_json, const char *which, const char *text, const struct layout_error *error)
{
    struct json json;

    complain_of_layout(which, error);
    if (!as_json)
        return;
    json_begin(&json, stdout);
    json_open(&json, "error", '{');
    json_string(&json, "layout", text);
    if (error->line > 0)
        json_u64(&json, "line", error->line);
    json_u64(&json, "column", error->column);
    json_string(&json, "why", error->why);
    json_close(&json, '}');
    json_end(&json);
}

static const char *element_name(uint32_t element, char name[static 16])
{
    if (element == ELEMENT_HEADER)
        return "h";
    snprintf(name, 16, "%" PRIu32, element);
    return name;
}

static void json_element(struct json *json, const char *key, uint32_t element)
{
    if (element == ELEMENT_HEADER)
        json_string(json, key, "h");
    else
        json_u64(json, key, element);
}

static void print_row(struct json *json, const struct row *row, const char *order)
{
    char name[16];

    if (json->out != NULL)
        json_open(json, NULL, '{');
    for (const char *field = order; *field != 0; field++) {
        const char *key = *field == 'o' ? "offset" : *field == 's' ? "suboffset" : "length";
        uint64_t value = *field == 'o' ? row->file_off : *field == 's' ? row->sub_off : row->len;

        if (json->out != NULL && *field == 'e')
            json_element(json, "element", row->element);
        else if (json->out != NULL)
            json_u64(json, key, value);
        else if (*field == 'e')
            printf("%s%s", field > order ? " " : "", element_name(row->element, name));
        else
            printf("%s%" PRIu64, field > order ? " " : "", value);
    }
    if (json->out != NULL)
        json_close(json, '}');
    else
        putchar('\n');
}

void answers_begin(struct answers *answers, bool as_json, const char *name)
{
    *answers = (struct answers){ 0 };
    if (!as_json)
        return;
    json_begin(&answers->json, stdout);
    json_open(&answers->json, name, '[');
    answers->errors_json.out = open_memstream(&answers->errors, &answers->errors_len);
}

void answers_row(struct answers *answers, const struct row *row, const char *order)
{
    print_row(&answers->json, row, order);
    answers->done++;
}

void answers_failure(struct answers *answers, const char *fmt, ...)
{
    char why[256];
    va_list list;

    va_start(list, fmt);
    vsnprintf(why, sizeof why, fmt, list);
    va_end(list);
    utf8_complain("%s", why);
    if (answers->errors_json.out != NULL)
        json_string(&answers->errors_json, NULL, why);
    answers->failed++;
}

enum ctl_status answers_end(struct answers *answers)
{
    if (answers->json.out != NULL) {
        json_close(&answers->json, ']');
        if (answers->errors_json.out != NULL)
            fclose(answers->errors_json.out);
        if (answers->failed > 0)
            json_raw(&answers->json, "errors", '[', answers->errors != NULL ? answers->errors : "", ']');
        json_end(&answers->json);
        free(answers->errors);
    }
    return answers->failed == 0 ? CTL_OK : answers->done > 0 ? CTL_PARTIAL : CTL_ERROR;
}
