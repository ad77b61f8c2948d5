/* SPDX-License-Identifier: MIT */
#include "layout/match.h"

static int match_element(const struct pattern *stored, const struct pattern *asked, uint32_t j, struct match *match)
{
    struct match_row *row = &match->row[j];

    for (uint32_t i = 0; i < stored->n_elements; i++) {
        cleanup(overlap_done) struct overlap overlap = { 0 };
        int r = overlap_of_elements(stored, i, asked, j, &overlap);

        if (r < 0)
            return r;
        match->period = overlap.period;
        row->bytes += overlap.size;
        row->runs += overlap.runs;
        row->touched += overlap.size > 0;
    }
    match->runs += row->runs;
    match->least += row->bytes > 0;
    return 0;
}

int match_new(const struct pattern *stored, const struct pattern *asked, struct match **ret_match)
{
    cleanup(match_freep) struct match *match = calloc(1, sizeof *match + asked->n_elements * sizeof match->row[0]);

    if (match == NULL)
        return -ENOMEM;
    match->n_rows = asked->n_elements;
    for (uint32_t j = 0; j < asked->n_elements; j++) {
        int r = match_element(stored, asked, j, match);

        if (r < 0)
            return r;
    }
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
