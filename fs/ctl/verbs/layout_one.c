/* SPDX-License-Identifier: MIT */
/* fallsctl layout check, map, unmap, runs, show: of one layout. */
#include "fs/ctl/show/picture.h"
#include "fs/ctl/verbs/layout_words.h"
#include "fs/json/utf8.h"
#include "layout/map.h"

#include <string.h>
#include <unistd.h>

/* -- check -- */

/* What the loss of disks means for a file. As a comment, so that all that is printed is the layout's text still. */
static const char *loss(const struct layout *layout)
{
    return layout->copies > 1 ? "# copies 2: the loss of any one disk loses none of its bytes"
                              : "# one copy: the loss of any disk that has bytes of a file loses these";
}

enum ctl_status ctl_layout_check(const struct layout_words *words)
{
    cleanup(layout_freep) struct layout *layout = NULL;
    struct json json;

    if (layout_words_layout(words, "", words->word[0], &layout) < 0)
        return CTL_ERROR;
    if (!words->as_json) {
        layout_print(stdout, layout);
        printf("\n%s\n", loss(layout));
        return CTL_OK;
    }
    json_begin(&json, stdout);
    json_layout(&json, "canonical", layout);
    json_u64(&json, "disp", layout->disp);
    json_u64(&json, "copies", layout->copies);
    json_u64(&json, "may_lose", layout->copies - 1);
    if (layout->pattern != NULL) {
        json_u64(&json, "period", layout->pattern->size);
        json_u64(&json, "elements", layout->pattern->n_elements);
        json_u64(&json, "falls", layout->pattern->n_nodes);
    }
    json_end(&json);
    return CTL_OK;
}

/* -- map, unmap, runs -- */

enum ctl_status ctl_layout_map(const struct layout_words *words)
{
    cleanup(layout_freep) struct layout *layout = NULL;
    struct answers answers;
    uint64_t off;

    for (int i = 1; i < words->n; i++)
        if (!layout_words_size(words->word[i], &off))
            return layout_words_wrong("map", "not an offset", words->word[i]);
    if (layout_words_pattern(words, "", words->word[0], &layout) < 0)
        return CTL_ERROR;
    answers_begin(&answers, words->as_json, "map");
    for (int i = 1; i < words->n; i++) {
        struct place place;
        struct row row;

        (void) layout_words_size(words->word[i], &off);
        if (pattern_map(layout->pattern, off, &place) < 0) {
            answers_failure(&answers, "offset %s lies past 2^62, the last byte a layout can reach", words->word[i]);
            continue;
        }
        row = (struct row){ .element = place.element, .file_off = off, .sub_off = place.sub_off };
        answers_row(&answers, &row, "oes");
    }
    return answers_end(&answers);
}

static void add_unmap_failure(struct answers *answers, int r, const struct layout *layout, const char *element,
                              const char *sub_off)
{
    char range[48];

    if (r == -ENOENT)
        answers_failure(answers, "there is no element %s: this layout has elements %s", element,
                        layout_words_range(layout, range));
    else if (r == -ERANGE)
        answers_failure(answers, "element %s has no byte %s: it ends before", element, sub_off);
    else
        answers_failure(answers, "byte %s of element %s lies past file byte 2^62, the last a layout can reach", sub_off,
                        element);
}

enum ctl_status ctl_layout_unmap(const struct layout_words *words)
{
    cleanup(layout_freep) struct layout *layout = NULL;
    struct answers answers;
    uint32_t element;
    uint64_t sub_off;

    if (!layout_words_element(words->word[1], &element))
        return layout_words_wrong("unmap", "not an element (a number from 0, or h)", words->word[1]);
    for (int i = 2; i < words->n; i++)
        if (!layout_words_size(words->word[i], &sub_off))
            return layout_words_wrong("unmap", "not an offset", words->word[i]);
    if (layout_words_pattern(words, "", words->word[0], &layout) < 0)
        return CTL_ERROR;
    answers_begin(&answers, words->as_json, "unmap");
    for (int i = 2; i < words->n; i++) {
        struct row row = { .element = element };
        int r;

        (void) layout_words_size(words->word[i], &row.sub_off);
        r = pattern_unmap(layout->pattern, element, row.sub_off, &row.file_off);
        if (r < 0) {
            add_unmap_failure(&answers, r, layout, words->word[1], words->word[i]);
            continue;
        }
        answers_row(&answers, &row, "eso");
    }
    return answers_end(&answers);
}

enum ctl_status ctl_layout_runs(const struct layout_words *words)
{
    cleanup(layout_freep) struct layout *layout = NULL;
    struct answers answers;
    struct runs runs;
    struct run run;
    uint64_t off, len;

    for (int i = 1; i < 3; i++)
        if (!layout_words_size(words->word[i], i == 1 ? &off : &len))
            return layout_words_wrong("runs", i == 1 ? "not an offset" : "not a length", words->word[i]);
    if (layout_words_pattern(words, "", words->word[0], &layout) < 0)
        return CTL_ERROR;
    if (runs_init(&runs, layout->pattern, off, len) < 0)
        return report(words->as_json, "the range reaches past 2^62, the last byte a layout can reach");
    answers_begin(&answers, words->as_json, "runs");
    while (!ferror(stdout) && runs_next(&runs, &run)) {
        struct row row = { .element = run.element, .file_off = run.file_off, .sub_off = run.sub_off, .len = run.len };

        answers_row(&answers, &row, "oesl");
    }
    return answers_end(&answers);
}

/* -- show -- */

static void print_show_json(const struct layout *layout, const struct picture *picture)
{
    const struct pattern *pattern = layout->pattern;
    struct json json;

    json_begin(&json, stdout);
    json_string(&json, "layout", layout->text);
    json_layout(&json, "canonical", layout);
    json_u64(&json, "disp", pattern->disp);
    json_u64(&json, "period", pattern->size);
    json_u64(&json, "copies", layout->copies);
    json_string(&json, "cell", picture->scale);
    json_string(&json, "shown", picture->part);
    json_open(&json, "rows", '[');
    for (uint32_t row = 0; row < picture->rows; row++) {
        json_open(&json, NULL, '{');
        json_u64(&json, "offset", picture->row_off[row]);
        json_open(&json, "owners", '[');
        for (uint32_t col = 0; col < picture->cols; col++)
            if (picture->owner[row * picture->cols + col] != OWNER_NONE)
                json_u64(&json, NULL, picture->owner[row * picture->cols + col]);
        json_close(&json, ']');
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_open(&json, "elements", '[');
    for (uint32_t i = 0; i < pattern->n_elements; i++) {
        json_open(&json, NULL, '{');
        json_u64(&json, "element", i);
        json_u64(&json, "bytes", pattern->element[i].once->size);
        json_nest(&json, "falls", pattern->element[i].once);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_end(&json);
}

static enum ctl_status write_svg(const char *path, const struct picture *picture, const struct layout *layout)
{
    FILE *out = fopen(path, "we");
    bool failed = out == NULL;

    if (out != NULL) {
        picture_svg(out, picture, layout);
        failed = ferror(out) != 0;
        if (fclose(out) != 0)
            failed = true;
    }
    if (failed)
        utf8_complain("cannot write the picture to %s: %s", path, strerror(errno));
    return failed ? CTL_ERROR : CTL_OK;
}

enum ctl_status ctl_layout_show(const struct layout_words *words)
{
    cleanup(layout_freep) struct layout *layout = NULL;
    cleanup(picture_done) struct picture picture = { 0 };

    if (layout_words_pattern(words, "", words->word[0], &layout) < 0)
        return CTL_ERROR;
    if (picture_init(&picture, layout) < 0)
        return report(words->as_json, "%s", strerror(ENOMEM));
    if (words->as_json)
        print_show_json(layout, &picture);
    else
        picture_print(stdout, &picture, layout, isatty(STDOUT_FILENO) && getenv("NO_COLOR") == NULL);
    return words->svg != NULL ? write_svg(words->svg, &picture, layout) : CTL_OK;
}
