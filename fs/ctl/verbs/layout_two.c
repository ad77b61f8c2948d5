/* SPDX-License-Identifier: MIT */
/* fallsctl layout intersect, match: of two layouts. */
#include "fs/ctl/verbs/layout_words.h"
#include "layout/match.h"

#include <string.h>

static enum ctl_status report_overlap(const struct layout_words *words, int r)
{
    if (r == -EOVERFLOW)
        return report(words->as_json,
                      "the common period of the two layouts reaches past 2^62 bytes: choose sizes with a smaller "
                      "common multiple");
    if (r == -E2BIG)
        return report(words->as_json,
                      "the two layouts meet in too many different ways: choose sizes with a smaller common multiple");
    return report(words->as_json, "%s", strerror(-r));
}

static void print_overlap(const struct layout_words *words, const struct overlap *overlap)
{
    struct json json;

    if (!words->as_json) {
        fputs("common ", stdout);
        nest_print(stdout, overlap->common);
        printf(" disp %" PRIu64 " period %" PRIu64 " size %" PRIu64 "\non-a ", overlap->lo, overlap->period,
               overlap->size);
        nest_print(stdout, overlap->on_a);
        printf(" period %" PRIu64 "\non-b ", overlap->size_a);
        nest_print(stdout, overlap->on_b);
        printf(" period %" PRIu64 "\n", overlap->size_b);
        return;
    }
    json_begin(&json, stdout);
    json_nest(&json, "common", overlap->common);
    json_u64(&json, "disp", overlap->lo);
    json_u64(&json, "period", overlap->period);
    json_u64(&json, "size", overlap->size);
    json_u64(&json, "runs", overlap->runs);
    json_nest(&json, "on_a", overlap->on_a);
    json_u64(&json, "period_a", overlap->size_a);
    json_nest(&json, "on_b", overlap->on_b);
    json_u64(&json, "period_b", overlap->size_b);
    json_end(&json);
}

enum ctl_status ctl_layout_intersect(const struct layout_words *words)
{
    cleanup(layout_freep) struct layout *a = NULL, *b = NULL;
    cleanup(overlap_done) struct overlap overlap = { 0 };
    char range[48];
    uint32_t i, j;
    int r;

    if (!layout_words_element(words->word[1], &i) || !layout_words_element(words->word[3], &j))
        return layout_words_wrong("intersect", "not an element (a number from 0, or h)",
                                  layout_words_element(words->word[1], &i) ? words->word[3] : words->word[1]);
    if (layout_words_pattern(words, "A: ", words->word[0], &a) < 0 ||
        layout_words_pattern(words, "B: ", words->word[2], &b) < 0)
        return CTL_ERROR;
    if (pattern_element(a->pattern, i) == NULL)
        return report(words->as_json, "A has no element %" PRIu32 ": it has elements %s", i,
                      layout_words_range(a, range));
    if (pattern_element(b->pattern, j) == NULL)
        return report(words->as_json, "B has no element %" PRIu32 ": it has elements %s", j,
                      layout_words_range(b, range));
    r = overlap_of_elements(a->pattern, i, b->pattern, j, &overlap);
    if (r < 0)
        return report_overlap(words, r);
    print_overlap(words, &overlap);
    return CTL_OK;
}

static void print_match(const struct match *match, const struct layout *a, const struct layout *b)
{
    printf("degree %s%.2f: %" PRIu64 " run%s in a common period of %" PRIu64 " bytes, %" PRIu64 " at best\n",
           match->is_estimated ? "about " : "", match_degree(match), match->runs, match->runs == 1 ? "" : "s",
           match->period, match->least);
    for (uint32_t j = 0; j < match->n_rows; j++) {
        const struct match_row *row = &match->row[j];

        if (row->runs > 1)
            printf("element %" PRIu32 " of B: %" PRIu64 " runs of %" PRIu64 " bytes on average, in %" PRIu32
                   " element%s of A, where one run of %" PRIu64 " would do\n",
                   j, row->runs, row->bytes / row->runs, row->touched, row->touched == 1 ? "" : "s", row->bytes);
    }
    if (a->copies != b->copies)
        printf("A has %" PRIu32 " cop%s, B %" PRIu32 ": the degree is that of the partitions\n", a->copies,
               a->copies == 1 ? "y" : "ies", b->copies);
}

static void print_match_json(const struct match *match, const struct layout *a, const struct layout *b)
{
    struct json json;

    json_begin(&json, stdout);
    json_real(&json, "degree", match_degree(match));
    json_u64(&json, "runs", match->runs);
    json_u64(&json, "least", match->least);
    json_u64(&json, "period", match->period);
    json_bool(&json, "estimated", match->is_estimated);
    json_u64(&json, "copies_a", a->copies);
    json_u64(&json, "copies_b", b->copies);
    json_open(&json, "elements", '[');
    for (uint32_t j = 0; j < match->n_rows; j++) {
        json_open(&json, NULL, '{');
        json_u64(&json, "element", j);
        json_u64(&json, "bytes", match->row[j].bytes);
        json_u64(&json, "runs", match->row[j].runs);
        json_u64(&json, "touched", match->row[j].touched);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_end(&json);
}

enum ctl_status ctl_layout_match(const struct layout_words *words)
{
    cleanup(layout_freep) struct layout *a = NULL, *b = NULL;
    cleanup(match_freep) struct match *match = NULL;
    int r;

    if (layout_words_pattern(words, "A: ", words->word[0], &a) < 0 ||
        layout_words_pattern(words, "B: ", words->word[1], &b) < 0)
        return CTL_ERROR;
    r = match_new(a->pattern, b->pattern, &match);
    if (r < 0)
        return report_overlap(words, r);
    if (words->as_json)
        print_match_json(match, a, b);
    else
        print_match(match, a, b);
    return CTL_OK;
}
