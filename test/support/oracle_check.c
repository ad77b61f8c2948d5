/* SPDX-License-Identifier: MIT */
/* What the oracle knows against what the algebra says. */
#include "test/support/oracle.h"

#include "layout/gather.h"
#include "layout/map.h"
#include "layout/match.h"
#include "test/support/texts.h"

#include <stdarg.h>
#include <string.h>

PRINTF_LIKE(2, 3)
static void differ(struct verdict *verdict, const char *fmt, ...)
{
    va_list args;

    if (verdict->why[0] != 0)
        return;
    va_start(args, fmt);
    vsnprintf(verdict->why, sizeof verdict->why, fmt, args);
    va_end(args);
}

/* How many bytes are looked at: two turns of the pattern and half of a third, enough to see it begin, go on and
 * repeat. */
static uint64_t span_of(const struct oracle *oracle)
{
    return oracle->disp + 2 * oracle->size + oracle->size / 2 + 1;
}

void check_map(const struct oracle *oracle, const struct pattern *pattern, struct verdict *verdict)
{
    if (pattern->size != oracle->size && oracle->size % pattern->size != 0)
        differ(verdict, "period %" PRIu64 ", expected %" PRIu64, pattern->size, oracle->size);
    if (pattern->n_elements != oracle->n_elements)
        differ(verdict, "%" PRIu32 " elements, expected %" PRIu32, pattern->n_elements, oracle->n_elements);
    for (uint64_t x = 0; x < span_of(oracle) && verdict->why[0] == 0; x++) {
        struct oracle_place want = oracle_map(oracle, x);
        struct place got;
        uint64_t back;

        if (pattern_map(pattern, x, &got) < 0 || got.element != want.element || got.sub_off != want.sub_off)
            differ(verdict, "map %" PRIu64 " is %" PRIu32 " %" PRIu64 ", expected %" PRIu32 " %" PRIu64, x, got.element,
                   got.sub_off, want.element, want.sub_off);
        else if (pattern_unmap(pattern, want.element, want.sub_off, &back) < 0 || back != x)
            differ(verdict, "unmap %" PRIu32 " %" PRIu64 " is not %" PRIu64, want.element, want.sub_off, x);
    }
}

void check_next_prev(const struct oracle *oracle, const struct pattern *pattern, struct rng *rng,
                     struct verdict *verdict)
{
    uint32_t e = (uint32_t) rng_below(rng, oracle->n_elements);
    const struct nest *nest = pattern_element(pattern, e);
    uint64_t span = span_of(oracle), next = UINT64_MAX, rank = 0, prev = UINT64_MAX;
    uint64_t *want_next = malloc(span * sizeof want_next[0]);

    for (uint64_t x = span; x-- > 0;) {
        if (oracle_map(oracle, x).element == e)
            next = x;
        want_next[x] = next;
    }
    for (uint64_t x = 0; x < span && verdict->why[0] == 0; x++) {
        bool member = oracle_map(oracle, x).element == e, found;
        uint64_t got = 0;

        if (member)
            prev = x;
        found = nest_next(nest, x, &got);
        if (want_next[x] != UINT64_MAX && (!found || got != want_next[x]))
            differ(verdict, "next of %" PRIu64 " in %" PRIu32 " is %" PRIu64 ", expected %" PRIu64, x, e, got,
                   want_next[x]);
        found = nest_prev(nest, x, &got);
        if (found != (prev != UINT64_MAX) || (found && got != prev))
            differ(verdict, "prev of %" PRIu64 " in %" PRIu32 " is %" PRIu64 ", expected %" PRIu64, x, e, got, prev);
        if (nest_rank(nest, x) != rank || nest_contains(nest, x) != member)
            differ(verdict, "rank of %" PRIu64 " in %" PRIu32 " is %" PRIu64 ", expected %" PRIu64, x, e,
                   nest_rank(nest, x), rank);
        rank += member;
    }
    free(want_next);
}

void check_runs(const struct oracle *oracle, const struct pattern *pattern, struct rng *rng, struct verdict *verdict)
{
    uint64_t span = span_of(oracle), x = rng_below(rng, span), end = x + rng_below(rng, span - x + 1);
    struct runs runs;
    struct run run;

    if (runs_init(&runs, pattern, x, end - x) < 0)
        differ(verdict, "runs of %" PRIu64 " + %" PRIu64 " fail", x, end - x);
    while (verdict->why[0] == 0 && runs_next(&runs, &run)) {
        struct oracle_place want = oracle_map(oracle, x);
        uint64_t stop = x + 1;

        while (stop < end && oracle_map(oracle, stop).element == want.element)
            stop++;
        if (x >= end || run.file_off != x || run.element != want.element || run.sub_off != want.sub_off ||
            run.len != stop - x)
            differ(verdict,
                   "run %" PRIu64 " %" PRIu32 " %" PRIu64 " %" PRIu64 ", expected %" PRIu64 " %" PRIu32 " %" PRIu64
                   " %" PRIu64,
                   run.file_off, run.element, run.sub_off, run.len, x, want.element, want.sub_off, stop - x);
        x = stop;
    }
    if (verdict->why[0] == 0 && x != end)
        differ(verdict, "runs end at %" PRIu64 ", expected %" PRIu64, x, end);
}

void check_cut(const struct oracle *oracle, const struct pattern *pattern, struct rng *rng, struct verdict *verdict)
{
    uint32_t e = (uint32_t) rng_below(rng, oracle->n_elements);
    uint64_t lo = rng_below(rng, span_of(oracle)), hi = lo + rng_below(rng, span_of(oracle)), n = 0;
    cleanup(nest_freep) struct nest *cut = NULL;

    if (nest_cut(pattern_element(pattern, e), lo, hi, &cut) < 0) {
        differ(verdict, "cut of %" PRIu32 " from %" PRIu64 " to %" PRIu64 " fails", e, lo, hi);
        return;
    }
    for (uint64_t x = lo; x < hi; x++) {
        if (oracle_map(oracle, x).element != e)
            continue;
        if (n >= cut->size || nest_select(cut, n) != x - lo) {
            differ(verdict,
                   "byte %" PRIu64 " of the cut of %" PRIu32 " from %" PRIu64 " to %" PRIu64 " is not %" PRIu64, n, e,
                   lo, hi, x - lo);
            return;
        }
        n++;
    }
    if (n != cut->size)
        differ(verdict,
               "the cut of %" PRIu32 " from %" PRIu64 " to %" PRIu64 " has %" PRIu64 " bytes, expected %" PRIu64, e, lo,
               hi, cut->size, n);
}

void check_gather(const struct oracle *oracle, const struct pattern *pattern, struct rng *rng, struct verdict *verdict)
{
    uint32_t e = (uint32_t) rng_below(rng, oracle->n_elements);
    uint64_t lo = rng_below(rng, span_of(oracle)), len = rng_below(rng, span_of(oracle)), n = 0;
    unsigned char *spread = malloc(len + 1), *packed = malloc(len + 1), *back = malloc(len + 1);
    const struct nest *nest = pattern_element(pattern, e);

    for (uint64_t i = 0; i < len; i++)
        spread[i] = (unsigned char) rng_u64(rng);
    memset(back, 0xaa, len + 1);
    memset(packed, 0xaa, len + 1);
    if (nest_gather(nest, lo, lo + len, spread, packed) != nest_scatter(nest, lo, lo + len, back, packed))
        differ(verdict, "gather and scatter move different numbers of bytes");
    for (uint64_t i = 0; i < len; i++) {
        bool member = oracle_map(oracle, lo + i).element == e;

        if ((member && (packed[n] != spread[i] || back[i] != spread[i])) || (!member && back[i] != 0xaa))
            differ(verdict,
                   "gather or scatter of %" PRIu32 " from %" PRIu64 ", %" PRIu64 " bytes, is wrong at byte %" PRIu64, e,
                   lo, len, lo + i);
        n += member;
    }
    if (packed[n] != 0xaa || nest_gather(nest, lo, lo + len, spread, packed) != n)
        differ(verdict, "gather of %" PRIu32 " from %" PRIu64 " moves other than %" PRIu64 " bytes", e, lo, n);
    free(spread);
    free(packed);
    free(back);
}

void check_print(const struct oracle *oracle, const struct layout *layout, struct verdict *verdict)
{
    cleanup(layout_freep) struct layout *again = NULL;
    cleanup(freep) char *text = printed_layout(layout);
    cleanup(freep) char *text_again = NULL;
    struct layout_error error;

    if (layout_parse(text, strlen(text), 0, &again, &error) < 0) {
        differ(verdict, "its canonical form is refused: column %zu: %s: %.200s", error.column, error.why, text);
        return;
    }
    text_again = printed_layout(again);
    if (strcmp(text, text_again) != 0)
        differ(verdict, "printed %.200s, parsed and printed again %.200s", text, text_again);
    if (layout->copies != oracle->copies || again->copies != oracle->copies)
        differ(verdict, "has %" PRIu32 " copies, printed %" PRIu32 ", and %" PRIu32 " were asked for", layout->copies,
               again->copies, oracle->copies);
    check_map(oracle, again->pattern, verdict);
}

static uint64_t common_period(const struct oracle *a, const struct oracle *b)
{
    return a->size / gcd_u64(a->size, b->size) * b->size;
}

/* Counts the runs of the common bytes of two elements; where there is an overlap, also holds it against every byte. */
static uint64_t compare_overlap(const struct oracle *a, uint32_t i, const struct oracle *b, uint32_t j,
                                const struct overlap *overlap, struct verdict *verdict)
{
    uint64_t lo = MAX(a->disp, b->disp), n = 0, runs = 0, rank_a = 0, rank_b = 0, last_a = 0, last_b = 0;

    for (uint64_t x = lo; x < lo + common_period(a, b); x++) {
        bool in_a = oracle_map(a, x).element == i, in_b = oracle_map(b, x).element == j;

        if (in_a && in_b) {
            if (overlap != NULL &&
                (n >= overlap->size || nest_select(overlap->common, n) != x - lo ||
                 nest_select(overlap->on_a, n) != rank_a || nest_select(overlap->on_b, n) != rank_b)) {
                differ(verdict,
                       "common byte %" PRIu64 " of %" PRIu32 " and %" PRIu32 " is not %" PRIu64 " %" PRIu64 " %" PRIu64,
                       n, i, j, x - lo, rank_a, rank_b);
                return 0;
            }
            runs += n == 0 || last_a + 1 != rank_a || last_b + 1 != rank_b;
            last_a = rank_a;
            last_b = rank_b;
            n++;
        }
        rank_a += in_a;
        rank_b += in_b;
    }
    if (overlap != NULL && (n != overlap->size || overlap->on_a->size != n || overlap->on_b->size != n ||
                            overlap->size_a != rank_a || overlap->size_b != rank_b))
        differ(verdict, "%" PRIu32 " and %" PRIu32 " have %" PRIu64 " bytes in common, expected %" PRIu64, i, j,
               overlap->size, n);
    if (overlap != NULL && overlap->runs != runs)
        differ(verdict, "%" PRIu32 " and %" PRIu32 " meet in %" PRIu64 " runs, expected %" PRIu64, i, j, overlap->runs,
               runs);
    return runs;
}

void check_overlap(const struct oracle *a, const struct pattern *pattern_a, const struct oracle *b,
                   const struct pattern *pattern_b, struct rng *rng, struct verdict *verdict)
{
    uint32_t i = (uint32_t) rng_below(rng, a->n_elements), j = (uint32_t) rng_below(rng, b->n_elements);
    cleanup(overlap_done) struct overlap overlap = { 0 };
    int r = overlap_of_elements(pattern_a, i, pattern_b, j, &overlap);

    if (r < 0)
        differ(verdict, "the intersection of %" PRIu32 " and %" PRIu32 " fails: %d", i, j, r);
    else
        (void) compare_overlap(a, i, b, j, &overlap, verdict);
}

void check_match(const struct oracle *a, const struct pattern *pattern_a, const struct oracle *b,
                 const struct pattern *pattern_b, struct verdict *verdict)
{
    cleanup(match_freep) struct match *match = NULL;
    uint64_t all = 0, least = 0;
    int r = match_new(pattern_a, pattern_b, &match);

    if (r < 0) {
        differ(verdict, "match fails: %d", r);
        return;
    }
    for (uint32_t j = 0; j < b->n_elements; j++) {
        uint64_t runs = 0;

        for (uint32_t i = 0; i < a->n_elements; i++)
            runs += compare_overlap(a, i, b, j, NULL, verdict);
        if (runs != match->row[j].runs)
            differ(verdict, "element %" PRIu32 " needs %" PRIu64 " runs, expected %" PRIu64, j, match->row[j].runs,
                   runs);
        all += runs;
        least += b->bytes[j] > 0;
    }
    if (all != match->runs || least != match->least)
        differ(verdict, "match of %" PRIu64 " over %" PRIu64 ", expected %" PRIu64 " over %" PRIu64, match->runs,
               match->least, all, least);
}
