/* SPDX-License-Identifier: MIT */
#include "layout/match.h"

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
