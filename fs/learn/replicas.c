/* SPDX-License-Identifier: MIT */
#include "fs/learn/replicas.h"

#include "fs/learn/reckon.h"

#include <string.h>

#define SAMPLES 512 /* accesses by which pairs are ordered */
#define TRIED   8   /* pairs that are judged by all accesses */

enum { AREA_READ, AREA_WRITTEN, AREA_BOTH, AREAS };

/* A layout of those that the file has, or would have; of replicas, which bytes. */
struct lie {
    size_t layout;
    uint64_t lo, hi;
    bool updates;
};

/* The file's own layout, the replicas that there are, those that are proposed. */
struct plan {
    struct lie lie[1 + 2 * REPLICAS_MOST];
    uint32_t n;
    uint64_t elapsed, reads; /* reads: that the last one serves */
};

struct area {
    uint64_t lo, hi; /* of the file, where a replica may be of use; lo >= hi: nowhere */
    bool is_written;
};

struct finding {
    const struct replicas_asked *asked;
    struct reckon_layout *layout; /* those to be tried, and behind them those of replicas that there are */
    size_t n;
    struct area area[AREAS];
    struct demands demands;
    struct reckon reckon;
    const struct demand **sample;
    size_t n_samples;
    double *cost;   /* of each pattern, of each sample */
    uint8_t *from;  /* of each touch */
    uint64_t alone; /* ns that all takes in the best layout without replicas that was judged */
};

/* -- where replicas are of use -- */

static void widen(struct area *area, uint64_t lo, uint64_t hi)
{
    area->lo = MIN(area->lo, lo);
    area->hi = MAX(area->hi, hi);
}

static bool is_written(const struct touches *touches, uint64_t lo, uint64_t hi)
{
    for (size_t i = 0; i < touches->n; i++)
        if (touches->touch[i].writes && touches->touch[i].off < hi && lo < touches->touch[i].end)
            return true;
    return false;
}

static void find_areas(struct finding *finding)
{
    const struct chunks *chunks = finding->asked->chunks;

    for (uint32_t i = 0; i < AREAS; i++)
        finding->area[i] = (struct area){ .lo = UINT64_MAX };
    for (size_t i = 0; i < chunks->n; i++) {
        const struct chunk *chunk = &chunks->chunk[i];
        enum chunk_class class = chunk_class(chunk);

        if (class != CHUNK_READ && class != CHUNK_WRITTEN_ONE)
            continue;
        widen(&finding->area[class == CHUNK_READ ? AREA_READ : AREA_WRITTEN], chunk->off, chunk->end);
        widen(&finding->area[AREA_BOTH], chunk->off, chunk->end);
    }
}

/* Who reads some of an area reads the rest of what he wants there, too. */
static void widen_areas(struct finding *finding)
{
    for (uint32_t i = 0; i < AREAS; i++) {
        struct area *area = &finding->area[i];
        const struct area shared = *area;

        for (size_t k = 0; k < finding->demands.n; k++) {
            const struct demand *demand = &finding->demands.demand[k];

            if (demand->by_pattern && !demand->writes && demand->lo < shared.hi && shared.lo < demand->hi)
                widen(area, demand->lo, demand->hi);
        }
        area->is_written = is_written(finding->asked->touches, area->lo, area->hi);
    }
}

static bool is_area(const struct finding *finding, uint32_t i)
{
    const struct area *area = &finding->area[i];

    return area->lo < area->hi &&
           (i != AREA_BOTH || (finding->area[AREA_READ].hi > 0 && finding->area[AREA_WRITTEN].hi > 0));
}

static bool is_read_by_pattern(const struct finding *finding)
{
    for (size_t i = 0; i < finding->demands.n; i++)
        if (demand_is_in(&finding->demands.demand[i], finding->area[AREA_BOTH].lo, finding->area[AREA_BOTH].hi))
            return true;
    return false;
}

/* -- what some accesses would take -- */

static bool counts(const struct finding *finding, const struct demand *demand)
{
    return (finding->asked->of & (demand->writes ? EXTENTS_WRITTEN : EXTENTS_READ)) != 0;
}

static int take_samples(struct finding *finding)
{
    const struct demands *demands = &finding->demands;
    uint64_t random = 1;

    finding->n_samples = MIN(demands->n, SAMPLES);
    finding->sample = malloc(MAX(finding->n_samples, 1) * sizeof(const struct demand *));
    finding->cost = malloc(MAX(finding->n_samples * finding->n, 1) * sizeof *finding->cost);
    if (finding->sample == NULL || finding->cost == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < finding->n_samples;
         i++) { /* any one of each part: what is in turn shall not be met in step */
        size_t first = demands->n * i / finding->n_samples, end = demands->n * (i + 1) / finding->n_samples;

        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        finding->sample[i] = &demands->demand[first + (size_t) (random >> 33) % (end - first)];
    }
    for (size_t k = 0; k < finding->n; k++)
        for (size_t i = 0; i < finding->n_samples; i++)
            finding->cost[k * finding->n_samples + i] =
                reckon_cost(&finding->reckon, finding->sample[i], &finding->layout[k]);
    return 0;
}

/* Which of the layouts serves a read, by what each takes. */
static uint32_t choose(const struct plan *plan, const struct demand *demand, const double cost[])
{
    double least = cost[0] * RECKON_MUCH_LESS;
    uint32_t best = 0;

    for (uint32_t k = 1; k < plan->n; k++)
        if (demand_is_in(demand, plan->lie[k].lo, plan->lie[k].hi) && cost[k] < least) {
            least = cost[k];
            best = k;
        }
    return best;
}

static double cost_of_sample(const struct finding *finding, const struct plan *plan, size_t i)
{
    const struct demand *demand = finding->sample[i];
    double cost[ARRAY_SIZE(plan->lie)] = { 0 }, all;

    for (uint32_t k = 0; k < plan->n; k++)
        cost[k] = finding->cost[plan->lie[k].layout * finding->n_samples + i];
    if (!demand->writes)
        return cost[choose(plan, demand, cost)];
    all = cost[0];
    for (uint32_t k = 1; k < plan->n; k++)
        all += plan->lie[k].updates && demand->lo < plan->lie[k].hi && plan->lie[k].lo < demand->hi ? cost[k] : 0;
    return all;
}

static double cost_of_samples(const struct finding *finding, const struct plan *plan)
{
    double all = 0;

    for (size_t i = 0; i < finding->n_samples; i++)
        all += counts(finding, finding->sample[i]) ? cost_of_sample(finding, plan, i) : 0;
    return all;
}

/* -- what all would take -- */

static void choose_all(struct finding *finding, struct plan *plan, struct area *ret_served)
{
    double cost[ARRAY_SIZE(plan->lie)] = { 0 };

    *ret_served = (struct area){ .lo = UINT64_MAX };
    plan->reads = 0;
    for (size_t i = 0; i < finding->demands.n; i++) {
        const struct demand *demand = &finding->demands.demand[i];
        uint32_t from = 0;

        for (uint32_t k = 0; k < plan->n && demand->by_pattern && !demand->writes; k++)
            cost[k] = reckon_cost(&finding->reckon, demand, &finding->layout[plan->lie[k].layout]);
        if (demand->by_pattern && !demand->writes)
            from = choose(plan, demand, cost);
        memset(&finding->from[demand->first], (int) from, demand->end - demand->first);
        if (from > 0 && from == plan->n - 1) {
            widen(ret_served, demand->lo, demand->hi);
            plan->reads++;
        }
    }
}

/* Judges a plan. is_new: its last layout is a replica that is to have no more than what is read from it. */
static int judge(struct finding *finding, struct plan *plan, bool is_new)
{
    const struct replicas_asked *asked = finding->asked;
    struct lie *last = &plan->lie[plan->n - 1];
    struct busy_layout layout[ARRAY_SIZE(plan->lie)];
    struct area served;
    struct busy busy;
    int r;

    plan->elapsed = UINT64_MAX;
    choose_all(finding, plan, &served);
    if (is_new && plan->reads == 0)
        return 0;
    if (is_new) {
        last->lo = served.lo;
        last->hi = served.hi;
        last->updates = is_written(asked->touches, served.lo, served.hi);
    }
    for (uint32_t k = 0; k < plan->n; k++)
        layout[k] = (struct busy_layout){ finding->layout[plan->lie[k].layout].pattern, plan->lie[k].lo,
                                          plan->lie[k].hi, plan->lie[k].updates };
    r = busy_init_lies(&busy, &(struct busy_lies){ layout, plan->n, finding->from, true }, asked->n_disks,
                       asked->touches, asked->of, asked->costs, NULL);
    if (r == 0) {
        plan->elapsed = busy.elapsed;
        busy_done(&busy);
    }
    return r == -ENOMEM ? r : 0;
}

/* -- the search -- */

struct tried {
    struct plan plan;
    double cost;
};

/* Keeps the best ones, in order. */
static void keep(struct tried tried[static TRIED], uint32_t *n, const struct plan *plan, double cost)
{
    uint32_t at = *n;

    while (at > 0 && tried[at - 1].cost > cost)
        at--;
    if (at == TRIED)
        return;
    *n = MIN(*n + 1, TRIED);
    for (uint32_t i = *n - 1; i > at; i--)
        tried[i] = tried[i - 1];
    tried[at] = (struct tried){ *plan, cost };
}

static bool has_layout(const struct plan *plan, size_t layout)
{
    for (uint32_t k = 0; k < plan->n; k++)
        if (plan->lie[k].layout == layout)
            return true;
    return false;
}

/* Tries all layouts as one more replica. The file cannot be given the layout that it has now as one before it has
 * another. */
static void try_replicas(const struct finding *finding, const struct plan *plan, struct tried tried[static TRIED],
                         uint32_t *n)
{
    const struct replicas_asked *asked = finding->asked;
    struct plan then = *plan;

    then.n++;
    for (size_t layout = 0; layout < asked->n; layout++)
        for (uint32_t i = 0; i < AREAS; i++) {
            const struct area *area = &finding->area[i];

            if (!is_area(finding, i) || has_layout(plan, layout) || layout == asked->now)
                continue;
            then.lie[plan->n] = (struct lie){ layout, area->lo, area->hi, area->is_written };
            keep(tried, n, &then, cost_of_samples(finding, &then));
        }
}

/* Of those that differ by less than a tenth the one whose replica has fewer subfiles is better, then the faster one. */
static bool is_better(const struct finding *finding, const struct plan *a, const struct plan *b)
{
    uint32_t of_a = finding->layout[a->lie[a->n - 1].layout].pattern->n_elements;
    uint32_t of_b = finding->layout[b->lie[b->n - 1].layout].pattern->n_elements;

    if (replicas_pay(a->elapsed, b->elapsed) || replicas_pay(b->elapsed, a->elapsed))
        return a->elapsed < b->elapsed;
    return of_a != of_b ? of_a < of_b : a->elapsed < b->elapsed - b->elapsed / 100;
}

/* Judges what was tried, and takes the best where that pays. 1: it did. */
static int take_best(struct finding *finding, struct tried tried[static TRIED], uint32_t n, struct plan *plan)
{
    const struct plan *best = NULL;
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < n; i++) {
        r = judge(finding, &tried[i].plan, true);
        if (best == NULL || is_better(finding, &tried[i].plan, best))
            best = &tried[i].plan;
    }
    if (r < 0 || best == NULL || !replicas_pay(best->elapsed, MIN(plan->elapsed, finding->alone)))
        return r;
    *plan = *best;
    return 1;
}

/* The first replica: beside the layout that the file is to have anyway, or together with another one for the file. */
static int find_pair(struct finding *finding, struct plan *plan)
{
    struct tried tried[TRIED], others[TRIED];
    uint32_t n = 0, n_others = 0;
    struct plan pair = *plan;
    int beside, anew;

    try_replicas(finding, plan, tried, &n);
    for (size_t base = 0; base < finding->asked->n; base++) {
        pair.lie[0].layout = base;
        if (base != plan->lie[0].layout)
            try_replicas(finding, &pair, others, &n_others);
    }
    beside = take_best(finding, tried, n, plan);
    anew = beside < 0 ? beside : take_best(finding, others, n_others, plan);
    return anew < 0 ? anew : MAX(beside, anew);
}

static int find_further(struct finding *finding, struct plan *plan)
{
    struct tried tried[TRIED];
    uint32_t n = 0;

    try_replicas(finding, plan, tried, &n);
    return take_best(finding, tried, n, plan);
}

/* What a layout alone serves as well needs no replicas. */
static int find_alone(struct finding *finding, const struct plan *plan)
{
    struct tried tried[TRIED];
    struct plan then = *plan;
    uint32_t n = 0;
    int r = 0;

    finding->alone = plan->elapsed;
    for (size_t base = 0; base < finding->asked->n; base++) {
        then.lie[0].layout = base;
        keep(tried, &n, &then, cost_of_samples(finding, &then));
    }
    for (uint32_t i = 0; r == 0 && i < n; i++) {
        r = judge(finding, &tried[i].plan, false);
        finding->alone = MIN(finding->alone, tried[i].plan.elapsed);
    }
    return r;
}

static void note(struct replicas *replicas, const struct plan *plan, uint64_t before)
{
    const struct lie *lie = &plan->lie[plan->n - 1];

    replicas->base = plan->lie[0].layout;
    replicas->replica[replicas->n++] =
        (struct replica){ lie->layout, lie->lo, lie->hi, lie->updates, plan->reads, plan->elapsed, before };
}

static int find_all(struct finding *finding, struct replicas *replicas)
{
    const struct replicas_asked *asked = finding->asked;
    struct plan plan = { .lie = { { asked->base, 0, UINT64_MAX, false } }, .n = 1 };
    int r = take_samples(finding);

    for (uint32_t i = 0; i < asked->n_has && plan.n <= REPLICAS_MOST; i++)
        plan.lie[plan.n++] = (struct lie){ asked->n + i, asked->has[i].lo, asked->has[i].hi, asked->has[i].updates };
    if (r == 0)
        r = judge(finding, &plan, false);
    if (r == 0)
        r = find_alone(finding, &plan);
    for (bool more = true; r == 0 && more && plan.n <= REPLICAS_MOST;) {
        uint64_t before = MIN(plan.elapsed, finding->alone);

        r = replicas->n == 0 ? find_pair(finding, &plan) : find_further(finding, &plan);
        more = r > 0;
        if (more)
            note(replicas, &plan, before);
        r = MIN(r, 0);
    }
    return r;
}

static int begin(struct finding *finding)
{
    const struct replicas_asked *asked = finding->asked;
    uint32_t most = 0;
    int r;

    finding->n = asked->n + asked->n_has;
    finding->layout = malloc(MAX(finding->n, 1) * sizeof *finding->layout);
    finding->from = calloc(MAX(asked->touches->n, 1), 1);
    if (finding->layout == NULL || finding->from == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < finding->n; i++) {
        const struct pattern *pattern = i < asked->n ? asked->pattern[i] : asked->has[i - asked->n].pattern;

        finding->layout[i] = reckon_look(pattern, finding->area[AREA_BOTH].lo);
        most = MAX(most, pattern->n_elements);
    }
    r = demands_init(&finding->demands, asked->touches);
    return r < 0 ? r : reckon_init(&finding->reckon, asked->touches, asked->n_disks, asked->reckoned, most);
}

static void finding_done(struct finding *finding)
{
    free(finding->layout);
    free(finding->sample);
    free(finding->cost);
    free(finding->from);
    reckon_done(&finding->reckon);
    demands_done(&finding->demands);
}

int replicas_find(struct replicas *replicas, const struct replicas_asked *asked)
{
    cleanup(finding_done) struct finding finding = { .asked = asked };
    int r;

    *replicas = (struct replicas){ .base = asked->base };
    find_areas(&finding);
    if (finding.area[AREA_BOTH].lo >= finding.area[AREA_BOTH].hi)
        return 0;
    r = begin(&finding);
    if (r < 0)
        return r;
    widen_areas(&finding);
    replicas->is_plain = !is_read_by_pattern(&finding);
    return replicas->is_plain ? 0 : find_all(&finding, replicas);
}
