/* SPDX-License-Identifier: MIT */
#include "fs/learn/fit.h"

#include "layout/map.h"

#define MAX_RUNS (UINT64_C(1) << 26) /* that are looked at */

struct counting {
    struct fit *fit;
    const struct pattern *pattern;
    uint32_t *seen; /* of each element the last rank that had some of it, from 1 */
    uint64_t left;  /* runs that may still be looked at */
};

static uint32_t slot_of(const struct fit *fit, uint32_t element)
{
    return element == ELEMENT_HEADER ? fit->n_elements : element;
}

/* Counts what a rank has: pieces that are contiguous among its own bytes and in one subfile are one run. */
static int count_rank(struct counting *counting, const struct extents *extents, uint32_t rank, struct fit_side *side)
{
    struct fit_row *row = &side->row[rank];
    uint64_t next_sub = 0;
    uint32_t element = 0;
    int r = 0;

    for (size_t i = extents->first[rank]; r == 0 && i < extents->first[rank + 1]; i++) {
        const struct segment *segment = &extents->segment[i];
        struct runs runs;
        struct run run;

        r = runs_init(&runs, counting->pattern, segment->off, segment->end - segment->off);
        while (r == 0 && runs_next(&runs, &run)) {
            uint32_t *seen = &counting->seen[slot_of(counting->fit, run.element)];

            row->runs += row->bytes == 0 || run.element != element || run.sub_off != next_sub;
            row->bytes += run.len;
            row->touched += *seen != rank + 1;
            *seen = rank + 1;
            element = run.element;
            next_sub = run.sub_off + run.len;
            if (counting->left-- == 0)
                r = -E2BIG;
        }
    }
    side->runs += row->runs;
    side->least += row->bytes > 0;
    return r;
}

static int count_moved(struct counting *counting, const struct touch *touch)
{
    struct runs runs;
    struct run run;
    int r = runs_init(&runs, counting->pattern, touch->off, touch->end - touch->off);

    while (r == 0 && runs_next(&runs, &run)) {
        counting->fit->moved[slot_of(counting->fit, run.element)] += run.len;
        if (counting->left-- == 0)
            r = -E2BIG;
    }
    return r;
}

static int count_side(struct counting *counting, const struct extents *extents, struct fit_side *side)
{
    int r = 0;

    side->row = calloc(MAX(extents->n_ranks, 1), sizeof *side->row);
    if (side->row == NULL)
        return -ENOMEM;
    memset(counting->seen, 0, ((size_t) counting->fit->n_elements + 1) * sizeof counting->seen[0]);
    for (uint32_t rank = 0; r == 0 && rank < extents->n_ranks; rank++)
        r = count_rank(counting, extents, rank, side);
    return r;
}

int fit_init(struct fit *fit, const struct pattern *pattern, const struct touches *touches, const struct extents *reads,
             const struct extents *writes)
{
    cleanup(freep) uint32_t *seen = calloc((size_t) pattern->n_elements + 1, sizeof *seen);
    struct counting counting = { .fit = fit, .pattern = pattern, .seen = seen, .left = MAX_RUNS };
    int r;

    *fit = (struct fit){ .n_rows = touches->n_ranks,
                         .n_elements = pattern->n_elements,
                         .moved = calloc((size_t) pattern->n_elements + 1, sizeof *fit->moved) };
    r = seen == NULL || fit->moved == NULL ? -ENOMEM : 0;
    if (r == 0)
        r = count_side(&counting, reads, &fit->reads);
    if (r == 0)
        r = count_side(&counting, writes, &fit->writes);
    for (size_t i = 0; r == 0 && i < touches->n; i++)
        r = count_moved(&counting, &touches->touch[i]);
    if (r < 0)
        fit_done(fit);
    return r;
}

void fit_done(struct fit *fit)
{
    free(fit->reads.row);
    free(fit->writes.row);
    free(fit->moved);
    *fit = (struct fit){ 0 };
}
