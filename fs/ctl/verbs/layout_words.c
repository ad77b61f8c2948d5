/* SPDX-License-Identifier: MIT */
#include "fs/ctl/verbs/layout_words.h"

#include "fs/json/utf8.h"

#include <string.h>

enum ctl_status layout_words_wrong(const char *verb, const char *why, const char *word)
{
    utf8_complain("fallsctl layout %s: %s%s%s (see 'fallsctl layout %s --help')", verb, why, word != NULL ? ": " : "",
                  word != NULL ? word : "", verb);
    return CTL_USAGE;
}

int layout_words_layout(const struct layout_words *words, const char *which, const char *text,
                        struct layout **ret_layout)
{
    struct layout_error error;
    int r = layout_parse(text, strlen(text), words->n_disks, ret_layout, &error);

    if (r < 0)
        report_layout(words->as_json, which, text, &error);
    return r;
}

int layout_words_pattern(const struct layout_words *words, const char *which, const char *text,
                         struct layout **ret_layout)
{
    cleanup(layout_freep) struct layout *layout = NULL;
    int r = layout_words_layout(words, which, text, &layout);

    if (r < 0)
        return r;
    if (layout->pattern == NULL) {
        report(words->as_json,
               "%sthis layout has as many elements as the volume has disks: name a number, as in stripe(64K,4), or "
               "the disks, as in 'on d0-d3', or give --disks N",
               which);
        return -EINVAL;
    }
    *ret_layout = steal(layout);
    return 0;
}

bool layout_words_size(const char *word, uint64_t *ret_size)
{
    int r = layout_parse_size(word, ret_size);

    if (r == -EOVERFLOW)
        *ret_size = UINT64_MAX;
    return r == 0 || r == -EOVERFLOW;
}

bool layout_words_element(const char *word, uint32_t *ret_element)
{
    uint64_t number;

    if (strcmp(word, "h") == 0) {
        *ret_element = ELEMENT_HEADER;
        return true;
    }
    if (!layout_words_size(word, &number) || number >= ELEMENT_HEADER)
        return false;
    *ret_element = (uint32_t) number;
    return true;
}

const char *layout_words_range(const struct layout *layout, char range[static 48])
{
    snprintf(range, 48, "0 to %" PRIu32 ", and h, the header", layout->pattern->n_elements - 1);
    return range;
}

/* Writes what a print function prints, as a string. */
static void json_printed(struct json *json, const char *key, void (*print)(FILE *, const void *), const void *what)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    if (out != NULL) {
        print(out, what);
        fclose(out);
    }
    json_string(json, key, text != NULL ? text : "");
    free(text);
}

static void print_layout(FILE *out, const void *layout)
{
    layout_print(out, layout);
}

static void print_nest(FILE *out, const void *nest)
{
    nest_print(out, nest);
}

void json_layout(struct json *json, const char *key, const struct layout *layout)
{
    json_printed(json, key, print_layout, layout);
}

void json_nest(struct json *json, const char *key, const struct nest *nest)
{
    json_printed(json, key, print_nest, nest);
}
