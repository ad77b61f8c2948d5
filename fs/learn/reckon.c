/* SPDX-License-Identifier: MIT */
#include "fs/learn/reckon.h"

#include "layout/map.h"

#define SHORT_PIECE 256 /* as core's touched.c has it, who finds out which disks have something of a window */
#define PROBE       64

/* What an element has of an access; bytes 0: nothing. */
struct reckon_span {
    uint64_t window;          /* of the file: the last one with something of it */
    uint64_t from, to, bytes; /* from to to: what is read there */
    uint64_t before, n;       /* bytes that are read in the windows before that one, and how many windows it has */
};

/* -- accesses -- */

/* A process is at work from its first touch to its last. */
static void count_under_way(struct demands *demands, const struct touches *touches, const size_t first[],
                            const size_t last[])
{
    uint32_t under_way = 0;

    for (size_t i = 0; i < demands->n; i++) {
        struct demand *demand = &demands->demand[i];
        uint32_t rank = touches->touch[demand->first].rank;

        under_way += first[rank] == i;
        demand->under_way = under_way;
        under_way -= last[rank] == i;
    }
}

static void add_touch(struct demands *demands, const struct touches *touches, size_t i)
{
    const struct touch *touch = &touches->touch[i];
    struct demand *before = demands->n > 0 ? &demands->demand[demands->n - 1] : NULL;

    if (before == NULL || !touch_goes_with(&touches->touch[before->first], touch)) {
        before = &demands->demand[demands->n++];
        *before = (struct demand){ i, i, touch->off, touch->end, 0, touch->writes, touch->by_pattern };
    }
    before->end = i + 1;
    before->lo = MIN(before->lo, touch->off);
    before->hi = MAX(before->hi, touch->end);
}

int demands_init(struct demands *demands, const struct touches *touches)
{
    cleanup(freep) size_t *first = malloc(((size_t) touches->n_ranks + 1) * sizeof *first);
    cleanup(freep) size_t *last = malloc(((size_t) touches->n_ranks + 1) * sizeof *last);

    *demands = (struct demands){ .demand = malloc(MAX(touches->n, 1) * sizeof *demands->demand) };
    if (first == NULL || last == NULL || demands->demand == NULL) {
        demands_done(demands);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < touches->n_ranks; i++)
        first[i] = SIZE_MAX;
    for (size_t i = 0; i < touches->n; i++) {
        uint32_t rank = touches->touch[i].rank;

        add_touch(demands, touches, i);
        first[rank] = MIN(first[rank], demands->n - 1);
        last[rank] = demands->n - 1;
    }
    count_under_way(demands, touches, first, last);
    return 0;
}

void demands_done(struct demands *demands)
{
    free(demands->demand);
    *demands = (struct demands){ 0 };
}

/* -- what they take -- */

int reckon_init(struct reckon *reckon, const struct touches *touches, uint32_t n_disks, const struct disk_costs costs[],
                uint32_t most_elements)
{
    *reckon = (struct reckon){ touches,
                               costs,
                               n_disks,
                               calloc((size_t) most_elements + 1, sizeof *reckon->span),
                               calloc((size_t) most_elements + 1, sizeof *reckon->met),
                               calloc(n_disks, sizeof *reckon->ns),
                               0 };
    if (reckon->span != NULL && reckon->met != NULL && reckon->ns != NULL)
        return 0;
    reckon_done(reckon);
    return -ENOMEM;
}

void reckon_done(struct reckon *reckon)
{
    free(reckon->span);
    free(reckon->met);
    free(reckon->ns);
    *reckon = (struct reckon){ 0 };
}

static void meet(struct reckon *reckon, uint32_t slot, const struct run *run)
{
    struct reckon_span *span = &reckon->span[slot];
    uint64_t window = run->file_off / RECKON_WINDOW;

    if (span->bytes == 0)
        reckon->met[reckon->n_met++] = slot;
    if (span->bytes == 0 || span->window != window) {
        span->before += span->to - span->from;
        span->n++;
        span->window = window;
        span->from = run->sub_off;
    }
    span->to = run->sub_off + run->len;
    span->bytes += run->len;
}

static void meet_all(struct reckon *reckon, const struct demand *demand, const struct pattern *pattern)
{
    struct runs runs;
    struct run run;

    for (size_t i = demand->first; i < demand->end; i++) {
        const struct touch *touch = &reckon->touches->touch[i];

        if (runs_init(&runs, pattern, touch->off, touch->end - touch->off) < 0)
            continue;
        while (runs_next(&runs, &run))
            meet(reckon, run.element == ELEMENT_HEADER ? pattern->n_elements : run.element, &run);
    }
}

struct reckon_layout reckon_look(const struct pattern *pattern, uint64_t off)
{
    struct runs runs;
    struct run run = { .file_off = off };
    uint32_t n = 0;

    if (runs_init(&runs, pattern, off, RECKON_WINDOW) == 0)
        while (n < PROBE && runs_next(&runs, &run))
            n++;
    return (struct reckon_layout){ pattern, n == PROBE && (run.file_off - off) / n < SHORT_PIECE };
}

/* All disks are asked for their part of each window. */
static double cost_of_all(const struct reckon *reckon, const struct demand *demand, const struct pattern *pattern)
{
    const uint64_t windows = (demand->hi - 1) / RECKON_WINDOW - demand->lo / RECKON_WINDOW + 1;
    const uint64_t of_each = (pattern->n_elements + reckon->n_disks - 1) / reckon->n_disks;
    const double calls = (double) (windows * of_each);
    const double bytes = (double) (demand->hi - demand->lo) / reckon->n_disks;
    double most = 0;

    for (uint32_t i = 0; i < reckon->n_disks; i++) {
        const struct disk_cost *cost = demand->writes ? &reckon->costs[i].write : &reckon->costs[i].read;

        most = MAX(most, calls * (double) (cost->seek + cost->call) + bytes * 1e9 / (double) cost->rate);
    }
    return most * demand->under_way;
}

double reckon_cost(struct reckon *reckon, const struct demand *demand, const struct reckon_layout *layout)
{
    const struct pattern *pattern = layout->pattern;
    double most = 0, all = 0;

    if (layout->is_short && demand->by_pattern)
        return cost_of_all(reckon, demand, pattern);
    meet_all(reckon, demand, pattern);
    memset(reckon->ns, 0, reckon->n_disks * sizeof *reckon->ns);
    for (uint32_t i = 0; i < reckon->n_met; i++) {
        uint32_t slot = reckon->met[i], disk = slot < pattern->n_elements ? slot % reckon->n_disks : 0;
        struct reckon_span *span = &reckon->span[slot];
        const struct disk_cost *cost = demand->writes ? &reckon->costs[disk].write : &reckon->costs[disk].read;
        double bytes = (double) (demand->writes ? span->bytes : span->before + span->to - span->from);
        double ns = (double) span->n * (double) (cost->seek + cost->call) + bytes * 1e9 / (double) cost->rate;

        reckon->ns[disk] += ns;
        most = MAX(most, reckon->ns[disk]);
        all += ns;
        *span = (struct reckon_span){ 0 };
    }
    reckon->n_met = 0;
    return MAX(most, all * demand->under_way / reckon->n_disks);
}
