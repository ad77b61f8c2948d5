/* SPDX-License-Identifier: MIT */
#include "layout/match.h"

#include "layout/map.h"

#define MAX_PIECES (UINT64_C(1) << 25) /* that are looked at one by one: about two seconds */

static int match_element(const struct pattern *stored, const struct nest *asked, uint64_t lo, struct match *match,
                         struct match_row *row)
{
    for (uint32_t i = 0; i < stored->n_elements; i++) {
        uint64_t size, runs;
        int r = overlap_count(pattern_element(stored, i), asked, lo, match->period, &size, &runs);

        if (r < 0)
            return r;
        row->bytes += size;
        row->runs += runs;
        row->touched += size > 0;
    }
    match->runs += row->runs;
    match->least += row->bytes > 0;
    return 0;
}

/* -- piece by piece -- */

/* Where the last piece of an asked element was. */
struct last {
    uint32_t element;
    uint64_t next_sub;
};

struct walking {
    struct match *match;
    uint32_t n_stored;
    struct last *last;      /* of each asked element */
    unsigned char *touched; /* a bit for each pair of asked and stored element */
};

static void take_piece(struct walking *walking, uint32_t asked, const struct run *stored, uint64_t sub_off,
                       uint64_t len)
{
    struct match_row *row = &walking->match->row[asked];
    struct last *last = &walking->last[asked];
    size_t bit = (size_t) asked * walking->n_stored + stored->element;

    row->runs += row->bytes == 0 || last->element != stored->element || last->next_sub != sub_off;
    row->bytes += len;
    row->touched += (walking->touched[bit / 8] & 1u << bit % 8) == 0;
    walking->touched[bit / 8] |= (unsigned char) (1u << bit % 8);
    *last = (struct last){ stored->element, sub_off + len };
}

/* Walks through both patterns side by side, and stores how far it came. */
static int walk(struct walking *walking, const struct pattern *stored, const struct pattern *asked, uint64_t lo,
                uint64_t *ret_end)
{
    uint64_t end = lo + walking->match->period, at = lo;
    struct run a = { 0 }, b = { 0 };
    struct runs in_a, in_b;
    int r = runs_init(&in_a, stored, lo, end - lo);

    if (r == 0)
        r = runs_init(&in_b, asked, lo, end - lo);
    for (uint64_t left = MAX_PIECES; r == 0 && at < end && left > 0; left--) {
        uint64_t next;

        if (a.file_off + a.len <= at)
            (void) runs_next(&in_a, &a);
        if (b.file_off + b.len <= at)
            (void) runs_next(&in_b, &b);
        next = MIN(a.file_off + a.len, b.file_off + b.len);
        take_piece(walking, b.element, &a, a.sub_off + (at - a.file_off), next - at);
        at = next;
    }
    *ret_end = at;
    return r;
}

/* All of a period is thought to be like what was looked at. */
static void extrapolate(struct match *match, const struct pattern *asked, uint64_t lo, uint64_t looked_at)
{
    double factor = (double) match->period / (double) looked_at;

    match->is_estimated = looked_at < match->period;
    for (uint32_t j = 0; j < match->n_rows; j++) {
        const struct nest *nest = pattern_element(asked, j);
        struct match_row *row = &match->row[j];

        if (match->is_estimated) {
            row->bytes = nest_rank(nest, lo + match->period) - nest_rank(nest, lo);
            row->runs = row->bytes > 0 ? MAX((uint64_t) ((double) row->runs * factor + 0.5), 1) : 0;
        }
        match->runs += row->runs;
        match->least += row->bytes > 0;
    }
}

static int match_by_pieces(const struct pattern *stored, const struct pattern *asked, uint64_t lo, struct match *match)
{
    size_t pairs = (size_t) stored->n_elements * asked->n_elements;
    cleanup(freep) struct last *last = calloc(MAX(asked->n_elements, 1), sizeof *last);
    cleanup(freep) unsigned char *touched = calloc(pairs / 8 + 1, 1);
    struct walking walking = { match, stored->n_elements, last, touched };
    uint64_t end;
    int r = last == NULL || touched == NULL ? -ENOMEM : 0;

    match->runs = match->least = 0;
    memset(match->row, 0, match->n_rows * sizeof match->row[0]);
    if (r == 0)
        r = walk(&walking, stored, asked, lo, &end);
    if (r == 0)
        extrapolate(match, asked, lo, end - lo);
    return r;
}

int match_new(const struct pattern *stored, const struct pattern *asked, struct match **ret_match)
{
    cleanup(match_freep) struct match *match = calloc(1, sizeof *match + asked->n_elements * sizeof match->row[0]);
    uint64_t lo;
    int r;

    if (match == NULL)
        return -ENOMEM;
    match->n_rows = asked->n_elements;
    r = overlap_period(stored, asked, &lo, &match->period);
    for (uint32_t j = 0; r == 0 && j < asked->n_elements; j++)
        r = match_element(stored, pattern_element(asked, j), lo, match, &match->row[j]);
    if (r == -E2BIG)
        r = match_by_pieces(stored, asked, lo, match);
    if (r < 0)
        return r;
    *ret_match = steal(match);
    return 0;
}

void match_free(struct match *match)
{
    free(match);
}

void match_freep(struct match **match)
{
    match_free(*match);
}
