/* SPDX-License-Identifier: MIT */
#include "fs/learn/busy.h"

#include "layout/map.h"

#define MAX_RUNS (UINT64_C(1) << 26) /* that are looked at */

/* What one request of the file asks of one subfile. */
struct ask {
    uint32_t slot;
    uint64_t from, len;
};

struct heads {
    uint32_t slot; /* the subfile that a disk was asked for last; UINT32_MAX: for none */
    uint64_t end;
};

struct counting {
    struct busy *busy;
    const struct pattern *pattern;
    const struct disk_costs *costs; /* of each disk */
    struct heads *head;             /* of each disk */
    struct ask *ask;                /* of the request that is worked on */
    uint32_t *of_slot;              /* of each subfile, its place in ask, and one; 0: it has none */
    uint32_t n_asks;
    uint64_t left; /* runs that may still be looked at */
};

/* ns that the bytes of one request take. */
static uint64_t ns_of(uint64_t bytes, uint64_t rate)
{
    return bytes * UINT64_C(1000000000) / rate; /* bytes are BUSY_REQUEST at most */
}

static int charge(struct counting *counting, const struct ask *ask, bool writes)
{
    struct busy *busy = counting->busy;
    uint32_t disk = ask->slot < counting->pattern->n_elements ? ask->slot % busy->n_disks : 0;
    const struct disk_cost *cost = writes ? &counting->costs[disk].write : &counting->costs[disk].read;
    struct heads *head = &counting->head[disk];
    bool seeks = head->slot != ask->slot || head->end != ask->from;
    uint64_t ns = cost->call + (seeks ? cost->seek : 0) + ns_of(ask->len, cost->rate);

    *head = (struct heads){ ask->slot, ask->from + ask->len };
    busy->requests++;
    busy->seeks += seeks;
    if (add_overflows(busy->ns[disk], ns, &busy->ns[disk]) || add_overflows(busy->all, ns, &busy->all))
        return -EOVERFLOW;
    busy->most = MAX(busy->most, busy->ns[disk]);
    return 0;
}

/* The bytes of a range are contiguous in each subfile that has some of them. */
static void add_run(struct counting *counting, const struct run *run)
{
    uint32_t slot = run->element == ELEMENT_HEADER ? counting->pattern->n_elements : run->element;

    if (counting->of_slot[slot] == 0) {
        counting->ask[counting->n_asks++] = (struct ask){ slot, run->sub_off, 0 };
        counting->of_slot[slot] = counting->n_asks;
    }
    counting->ask[counting->of_slot[slot] - 1].len += run->len;
}

static int count_request(struct counting *counting, uint64_t off, uint64_t len, bool writes)
{
    struct runs runs;
    struct run run;
    int r = runs_init(&runs, counting->pattern, off, len);

    counting->n_asks = 0;
    while (r == 0 && runs_next(&runs, &run)) {
        add_run(counting, &run);
        if (counting->left-- == 0)
            r = -E2BIG;
    }
    for (uint32_t i = 0; i < counting->n_asks; i++) {
        counting->of_slot[counting->ask[i].slot] = 0;
        if (r == 0)
            r = charge(counting, &counting->ask[i], writes);
    }
    return r;
}

static int count_touch(struct counting *counting, const struct touch *touch)
{
    uint64_t to;
    int r = 0;

    for (uint64_t at = touch->off; r == 0 && at < touch->end; at = to) {
        to = MIN((at / BUSY_REQUEST + 1) * BUSY_REQUEST, touch->end);
        r = count_request(counting, at, to - at, touch->writes);
    }
    return r;
}

int busy_init(struct busy *busy, const struct pattern *pattern, uint32_t n_disks, const struct touches *touches,
              enum extents_of of, const struct disk_costs costs[])
{
    size_t n_slots = (size_t) pattern->n_elements + 1;
    cleanup(freep) struct heads *head = calloc(n_disks, sizeof *head);
    cleanup(freep) struct ask *ask = malloc(n_slots * sizeof *ask);
    cleanup(freep) uint32_t *of_slot = calloc(n_slots, sizeof *of_slot);
    struct counting counting = { busy, pattern, costs, head, ask, of_slot, 0, MAX_RUNS };
    int r;

    *busy = (struct busy){ .n_disks = n_disks, .ns = calloc(n_disks, sizeof *busy->ns) };
    r = head == NULL || ask == NULL || of_slot == NULL || busy->ns == NULL ? -ENOMEM : 0;
    for (uint32_t i = 0; r == 0 && i < n_disks; i++)
        head[i] = (struct heads){ UINT32_MAX, 0 };
    for (size_t i = 0; r == 0 && i < touches->n; i++)
        if ((of & (touches->touch[i].writes ? EXTENTS_WRITTEN : EXTENTS_READ)) != 0)
            r = count_touch(&counting, &touches->touch[i]);
    if (r < 0)
        busy_done(busy);
    return r;
}

void busy_done(struct busy *busy)
{
    free(busy->ns);
    *busy = (struct busy){ 0 };
}
