/* SPDX-License-Identifier: MIT */
#include "test/support/texts.h"

#include <string.h>

_Noreturn static void refused(const char *text, const struct layout_error *error)
{
    fprintf(stderr, "%s\n", text);
    layout_error_print(stderr, error);
    fputc('\n', stderr);
    abort();
}

struct nest *nest_of(const char *text)
{
    struct layout_error error;
    struct nest *nest = NULL;

    if (nest_parse(text, strlen(text), &nest, &error) < 0)
        refused(text, &error);
    return nest;
}

struct layout *layout_of(const char *text)
{
    struct layout_error error;
    struct layout *layout = NULL;

    if (layout_parse(text, strlen(text), 0, &layout, &error) < 0)
        refused(text, &error);
    return layout;
}

struct text text_of_nest(const struct nest *nest)
{
    struct text text = { { 0 } };
    FILE *out = fmemopen(text.s, sizeof text.s, "w");

    nest_print(out, nest);
    fclose(out);
    return text;
}

struct text text_of_layout(const struct layout *layout)
{
    struct text text = { { 0 } };
    FILE *out = fmemopen(text.s, sizeof text.s, "w");

    layout_print(out, layout);
    fclose(out);
    return text;
}

char *printed_layout(const struct layout *layout)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    if (out == NULL)
        abort();
    layout_print(out, layout);
    fclose(out);
    return text;
}
