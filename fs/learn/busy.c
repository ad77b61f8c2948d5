/* SPDX-License-Identifier: MIT */
#include "fs/learn/busy.h"

#include "fs/learn/pages.h"
#include "layout/map.h"

const struct disk_cache busy_usual_cache = { .page = 4 << 10, .ahead = 128 << 10 };

#define MAX_RUNS (UINT64_C(1) << 26) /* that are looked at */

/* What one request of the file asks of one subfile. The subfiles of all layouts are counted through, and behind those
 * of each stands its header. */
struct ask {
    uint32_t slot;
    uint64_t from, len;
};

/* A layout, and the number of its first subfile. */
struct busy_place {
    const struct pattern *pattern;
    uint32_t first;
};

struct heads {
    uint32_t slot; /* the subfile that a disk was asked for last; UINT32_MAX: for none */
    uint64_t end;
};

struct counting {
    struct busy *busy;
    const struct busy_lies *lies;
    const struct disk_costs *costs; /* of each disk */
    struct pages *pages;            /* NULL: nothing is cached */
    struct heads *head;             /* of each disk */
    uint64_t *free_at;              /* when each disk has done what it was asked for */
    uint64_t *ready;                /* when each rank has what it asked for, and asks for more */
    struct ask *ask;                /* of the request that is worked on */
    uint32_t *of_slot;              /* of each subfile, its place in ask, and one; 0: it has none */
    uint32_t *disk;                 /* of each subfile */
    uint32_t n_asks;
    uint64_t left; /* runs that may still be looked at */
};

/* ns that the bytes of one request take. */
static uint64_t ns_of(uint64_t bytes, uint64_t rate)
{
    return bytes * UINT64_C(1000000000) / rate; /* bytes are little more than BUSY_REQUEST at most */
}

/* ns until the head of a disk is where a request begins: a short way takes no longer than the bytes that lie on it, a
 * long one a seek. */
static uint64_t way_of(const struct disk_cost *cost, const struct heads *head, uint32_t slot, uint64_t from)
{
    uint64_t way = from > head->end ? from - head->end : head->end - from;

    if (head->slot != slot || way > BUSY_REQUEST)
        return cost->seek;
    return MIN(ns_of(way, cost->rate), cost->seek);
}

/* What a disk does for somebody who asks at that time, and when it is done. */
static int charge(struct counting *counting, uint32_t slot, const struct page_ask *page, bool writes, uint64_t asked_at,
                  uint64_t *done)
{
    struct busy *busy = counting->busy;
    uint32_t disk = counting->disk[slot];
    const struct disk_cost *cost = writes ? &counting->costs[disk].write : &counting->costs[disk].read;
    struct heads *head = &counting->head[disk];
    uint64_t way = page->goes ? way_of(cost, head, slot, page->from) : 0;
    uint64_t ns = (page->goes ? cost->call : 0) + way + ns_of(page->bytes, cost->rate);

    if (page->goes)
        *head = (struct heads){ slot, page->to };
    busy->requests += page->goes;
    busy->seeks += way > 0;
    if (add_overflows(busy->ns[disk], ns, &busy->ns[disk]) || add_overflows(busy->all, ns, &busy->all) ||
        add_overflows(MAX(asked_at, counting->free_at[disk]), ns, &counting->free_at[disk]))
        return -EOVERFLOW;
    busy->most = MAX(busy->most, busy->ns[disk]);
    *done = MAX(*done, counting->free_at[disk]);
    return 0;
}

static int do_ask(struct counting *counting, const struct ask *ask, bool writes, uint64_t asked_at, uint64_t *done)
{
    struct page_ask page = { ask->len, true, ask->from, ask->from + ask->len };
    bool is_cached = counting->pages != NULL && pages_reach(counting->pages, page.to);
    int r = 0;

    if (is_cached && writes)
        return pages_write(counting->pages, ask->slot, ask->from, ask->len);
    if (is_cached)
        r = pages_read(counting->pages, ask->slot, ask->from, ask->len, &page);
    return r < 0 || page.bytes == 0 ? r : charge(counting, ask->slot, &page, writes, asked_at, done);
}

/* The bytes of a range are contiguous in each subfile that has some of them. */
static void add_run(struct counting *counting, const struct busy_place *place, const struct run *run)
{
    uint32_t slot = place->first + (run->element == ELEMENT_HEADER ? place->pattern->n_elements : run->element);

    if (counting->of_slot[slot] == 0) {
        counting->ask[counting->n_asks++] = (struct ask){ slot, run->sub_off, 0 };
        counting->of_slot[slot] = counting->n_asks;
    }
    counting->ask[counting->of_slot[slot] - 1].len += run->len;
}

static int ask_all(struct counting *counting, const struct touch *touch, uint64_t *done)
{
    int r = 0;

    for (uint32_t i = 0; i < counting->n_asks; i++) {
        counting->of_slot[counting->ask[i].slot] = 0;
        if (r == 0)
            r = do_ask(counting, &counting->ask[i], touch->writes, counting->ready[touch->rank], done);
    }
    counting->n_asks = 0;
    return r;
}

/* Whether a run is asked for together with what of its subfile is to be asked for already: it follows, or the hole is
 * read sooner than left out. */
static bool joins(const struct counting *counting, const struct ask *ask, const struct run *run, bool writes)
{
    const struct disk_cost *cost = &counting->costs[counting->disk[ask->slot]].read;
    uint64_t end = ask->from + ask->len, hole = run->sub_off - end;

    if (run->sub_off < end || ask->len >= BUSY_REQUEST)
        return false;
    return hole == 0 || (!writes && hole < BUSY_REQUEST && ns_of(hole, cost->rate) < cost->call + cost->seek);
}

static int join_run(struct counting *counting, const struct busy_place *place, const struct run *run,
                    const struct touch *touch, uint64_t *done)
{
    uint32_t slot = place->first + (run->element == ELEMENT_HEADER ? place->pattern->n_elements : run->element);
    struct ask *ask = counting->of_slot[slot] > 0 ? &counting->ask[counting->of_slot[slot] - 1] : NULL;
    int r = 0;

    if (ask != NULL && !joins(counting, ask, run, touch->writes)) {
        r = do_ask(counting, ask, touch->writes, counting->ready[touch->rank], done);
        *ask = (struct ask){ slot, run->sub_off, run->len };
    } else if (ask != NULL) {
        ask->len = run->sub_off + run->len - ask->from;
    } else {
        add_run(counting, place, run);
    }
    return r;
}

static int count_request(struct counting *counting, const struct busy_place *place, uint64_t off, uint64_t len,
                         const struct touch *touch, uint64_t *done)
{
    const bool joined = counting->lies->joins && touch->by_pattern;
    struct runs runs;
    struct run run;
    int r = runs_init(&runs, place->pattern, off, len);

    while (r == 0 && runs_next(&runs, &run)) {
        if (joined)
            r = join_run(counting, place, &run, touch, done);
        else
            add_run(counting, place, &run);
        if (counting->left-- == 0)
            r = -E2BIG;
    }
    if (r == 0 && !joined)
        r = ask_all(counting, touch, done);
    return r;
}

/* All requests of a range are on their way at once. */
static int count_range(struct counting *counting, const struct busy_place *place, uint64_t off, uint64_t end,
                       const struct touch *touch, uint64_t *done)
{
    uint64_t to;
    int r = 0;

    for (uint64_t at = off; r == 0 && at < end; at = to) {
        to = MIN((at / BUSY_REQUEST + 1) * BUSY_REQUEST, end);
        r = count_request(counting, place, at, to - at, touch, done);
    }
    return r;
}

/* What is read is read from one layout; what is written goes to the first, and to those that follow writes. */
static int count_touch(struct counting *counting, size_t i, const struct touch *touch, uint64_t *done)
{
    struct busy_place place = { .first = 0 };
    int r = 0;

    for (uint32_t k = 0; r == 0 && k < counting->lies->n; k++) {
        const struct busy_layout *layout = &counting->lies->layout[k];
        uint32_t from = touch->writes || counting->lies->from == NULL ? 0 : counting->lies->from[i];

        place.pattern = layout->pattern;
        if (k == from)
            r = count_range(counting, &place, touch->off, touch->end, touch, done);
        else if (touch->writes && layout->updates)
            r = count_range(counting, &place, MAX(touch->off, layout->lo), MIN(touch->end, layout->hi), touch, done);
        place.first += layout->pattern->n_elements + 1;
    }
    return r;
}

/* A rank asks for all touches of one access at once, where they are joined; else for each when it has the former. */
static int count_access(struct counting *counting, const struct touches *touches, size_t *i)
{
    const struct touch *first = &touches->touch[*i];
    uint64_t done = counting->ready[first->rank];
    int r = 0;

    do
        r = count_touch(counting, *i, &touches->touch[*i], &done);
    while (++*i < touches->n && r == 0 && counting->lies->joins && touch_goes_with(first, &touches->touch[*i]));
    if (r == 0)
        r = ask_all(counting, first, &done);
    counting->ready[first->rank] = done;
    counting->busy->elapsed = MAX(counting->busy->elapsed, done);
    return r;
}

/* What was written goes to all disks at once, when nobody asks for anything any more. */
static int count_written(struct counting *counting)
{
    const uint64_t begin = counting->busy->elapsed;
    uint64_t from, to, end;
    int r = 0;

    for (uint32_t slot = 0; slot < counting->pages->n_slots; slot++)
        for (uint64_t at = 0; r == 0 && pages_written(counting->pages, slot, &at, &from, &to);)
            for (; r == 0 && from < to; from = end) {
                end = MIN(to, from + BUSY_REQUEST);
                r = charge(counting, slot, &(struct page_ask){ end - from, true, from, end }, true, begin,
                           &counting->busy->elapsed);
            }
    return r;
}

static int count_all(struct counting *counting, const struct touches *touches, enum extents_of of)
{
    int r = 0;

    for (uint32_t i = 0; i < counting->busy->n_disks; i++)
        counting->head[i] = (struct heads){ UINT32_MAX, 0 };
    for (size_t i = 0; r == 0 && i < touches->n;) {
        if ((of & (touches->touch[i].writes ? EXTENTS_WRITTEN : EXTENTS_READ)) != 0)
            r = count_access(counting, touches, &i);
        else
            i++;
    }
    return r == 0 && counting->pages != NULL ? count_written(counting) : r;
}

static uint32_t count_slots(const struct busy_lies *lies)
{
    uint32_t n = 0;

    for (uint32_t k = 0; k < lies->n; k++)
        n += lies->layout[k].pattern->n_elements + 1;
    return n;
}

static void deal(const struct busy_lies *lies, uint32_t n_disks, uint32_t disk[])
{
    for (uint32_t k = 0; k < lies->n; k++) {
        uint32_t n = lies->layout[k].pattern->n_elements;

        for (uint32_t i = 0; i < n; i++)
            *disk++ = i % n_disks;
        *disk++ = 0;
    }
}

int busy_init_lies(struct busy *busy, const struct busy_lies *lies, uint32_t n_disks, const struct touches *touches,
                   enum extents_of of, const struct disk_costs costs[], const struct disk_cache *cache)
{
    const uint32_t n_slots = count_slots(lies);
    cleanup(freep) struct heads *head = calloc(n_disks, sizeof *head);
    cleanup(freep) struct ask *ask = malloc(n_slots * sizeof *ask);
    cleanup(freep) uint32_t *of_slot = calloc(n_slots, sizeof *of_slot);
    cleanup(freep) uint32_t *disk = calloc(n_slots, sizeof *disk);
    cleanup(freep) uint64_t *free_at = calloc(n_disks, sizeof *free_at);
    cleanup(freep) uint64_t *ready = calloc(MAX(touches->n_ranks, 1), sizeof *ready);
    cleanup(pages_done) struct pages pages = { 0 };
    struct counting counting = { busy, lies, costs,   cache != NULL ? &pages : NULL, head, free_at, ready, ask, of_slot,
                                 disk, 0,    MAX_RUNS };
    int r = cache != NULL ? pages_init(&pages, n_slots, cache->page, cache->ahead) : 0;

    *busy = (struct busy){ .n_disks = n_disks, .ns = calloc(n_disks, sizeof *busy->ns) };
    if (head == NULL || ask == NULL || of_slot == NULL || disk == NULL || free_at == NULL || ready == NULL ||
        busy->ns == NULL)
        r = -ENOMEM;
    if (r == 0) {
        deal(lies, n_disks, disk);
        r = count_all(&counting, touches, of);
    }
    if (r < 0)
        busy_done(busy);
    return r;
}

int busy_init_cached(struct busy *busy, const struct pattern *pattern, uint32_t n_disks, const struct touches *touches,
                     enum extents_of of, const struct disk_costs costs[], const struct disk_cache *cache)
{
    const struct busy_layout alone = { .pattern = pattern, .hi = UINT64_MAX };

    return busy_init_lies(busy, &(struct busy_lies){ &alone, 1, NULL, false }, n_disks, touches, of, costs, cache);
}

int busy_init(struct busy *busy, const struct pattern *pattern, uint32_t n_disks, const struct touches *touches,
              enum extents_of of, const struct disk_costs costs[])
{
    return busy_init_cached(busy, pattern, n_disks, touches, of, costs, NULL);
}

void busy_done(struct busy *busy)
{
    free(busy->ns);
    *busy = (struct busy){ 0 };
}
