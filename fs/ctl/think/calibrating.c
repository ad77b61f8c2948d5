/* SPDX-License-Identifier: MIT */
#include "fs/ctl/think/calibrating.h"

#include "fs/ctl/ask/scratch.h"
#include "fs/learn/cost.h"
#include "layout/clock.h"

#include <string.h>

#define MIN_ROUNDS 3 /* but for disks that are very slow: less has no median */
#define MAX_ROUNDS 15
#define TURN_NS    UINT64_C(50000000) /* that requests of one kind have in a round */
#define SECOND     UINT64_C(1000000000)

/* Those of the paper's Table 2 that a disk can be asked for, and 256K, as many stripes have it. */
static const uint32_t chunk_sizes[] = { 512,      1 << 10,   2 << 10,   4 << 10,   32 << 10,
                                        64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20 };

#define MAX_SAMPLES (2 * MAX_ROUNDS * ARRAY_SIZE(chunk_sizes)) /* in one direction */

struct samples {
    size_t n;
    struct cost_sample sample[MAX_SAMPLES];
};

struct measuring {
    struct scratch scratch;
    uint64_t until, at_last;   /* by clock_ns; when MIN_ROUNDS do not count any more */
    struct samples samples[2]; /* by enum scratch_how */
};

/* -- asking -- */

static int ask(struct measuring *measuring, enum scratch_how how, uint32_t bytes, bool apart)
{
    struct samples *samples = &measuring->samples[how];
    struct cost_sample *sample = &samples->sample[samples->n];
    int r = scratch_ask(&measuring->scratch, how, bytes, apart, TURN_NS, &sample->n, &sample->ns);

    sample->bytes = bytes;
    sample->apart = apart;
    samples->n += r == 0;
    return r;
}

static int ask_round(struct measuring *measuring)
{
    int r = 0;

    for (size_t i = 0; i < ARRAY_SIZE(chunk_sizes); i++)
        for (unsigned kind = 0; r == 0 && kind < 4 && chunk_sizes[i] >= measuring->scratch.unit; kind++)
            r = ask(measuring, (kind & 1) != 0 ? SCRATCH_WRITE : SCRATCH_READ, chunk_sizes[i], (kind & 2) != 0);
    return r;
}

static int ask_rounds(struct measuring *measuring)
{
    int r = 0;

    for (unsigned i = 0; r == 0 && i < MAX_ROUNDS; i++) {
        if (i > 0 && clock_ns() > (i < MIN_ROUNDS ? measuring->at_last : measuring->until))
            break;
        r = ask_round(measuring);
    }
    return r;
}

/* -- what it came to -- */

static int fit(struct samples *samples, struct costs_of *of)
{
    struct disk_cost cost;
    int r = cost_fit(samples->sample, samples->n, &cost);

    if (r == 0)
        *of = (struct costs_of){ MIN(cost.call, COSTS_MAX_NS), MIN(cost.seek, COSTS_MAX_NS), cost.rate };
    return r;
}

static uint64_t bandwidth(struct samples *samples, uint32_t bytes, bool apart)
{
    return (uint64_t) (bytes * 1e9 / MAX(cost_median(samples->sample, samples->n, bytes, apart), 1));
}

static void tabulate(struct measuring *measuring, struct costs *costs)
{
    struct samples *read = &measuring->samples[SCRATCH_READ], *write = &measuring->samples[SCRATCH_WRITE];

    for (size_t i = 0; i < ARRAY_SIZE(chunk_sizes); i++)
        if (chunk_sizes[i] >= measuring->scratch.unit)
            costs->chunk[costs->n_chunks++] =
                (struct costs_chunk){ .bytes = chunk_sizes[i],
                                      .read = bandwidth(read, chunk_sizes[i], false),
                                      .read_apart = bandwidth(read, chunk_sizes[i], true),
                                      .write = bandwidth(write, chunk_sizes[i], false),
                                      .write_apart = bandwidth(write, chunk_sizes[i], true) };
}

static int conclude(struct measuring *measuring, const struct calibrating *calibrating, struct costs *costs)
{
    struct samples *read = &measuring->samples[SCRATCH_READ], *write = &measuring->samples[SCRATCH_WRITE];
    double spread = MAX(cost_spread(read->sample, read->n), cost_spread(write->sample, write->n));
    int r;

    *costs = (struct costs){ .measured = (uint64_t) clock_wall().tv_sec,
                             .direct = measuring->scratch.direct,
                             .spread = (uint32_t) MIN(spread * 100, 10000) };
    memcpy(costs->disk, calibrating->uuid, DISK_UUID_SIZE);
    r = fit(read, &costs->read);
    if (r == 0)
        r = fit(write, &costs->write);
    tabulate(measuring, costs);
    return r;
}

static int measure(struct measuring *measuring, const struct calibrating *calibrating, struct costs *costs,
                   char why[static ATTRS_WHY])
{
    struct scratch *scratch = &measuring->scratch;
    uint64_t ns = calibrating->seconds * SECOND;
    int r = scratch_init(scratch, calibrating->path, calibrating->most, ns / 3, why);

    if (r < 0)
        return r;
    r = ask_rounds(measuring);
    if (r == 0)
        r = conclude(measuring, calibrating, costs);
    if (r < 0) {
        (void) attrs_refuse(why, r, "%s: cannot be measured: %s", calibrating->path, strerror(-r));
    } else {
        disk_close(&scratch->disk, &scratch->fd); /* that room may be needed */
        r = costs_write(&scratch->disk, costs);
        if (r < 0)
            (void) attrs_refuse(why, r, "%s: was measured, but cannot keep that: %s", calibrating->path, strerror(-r));
    }
    scratch_done(scratch);
    return r;
}

int calibrate(const struct calibrating *calibrating, struct costs *ret_costs, char ret_why[static ATTRS_WHY])
{
    cleanup(freep) struct measuring *measuring = calloc(1, sizeof *measuring);
    struct costs costs;
    int r;

    if (measuring == NULL)
        return attrs_refuse(ret_why, -ENOMEM, "out of memory");
    measuring->until = clock_ns() + calibrating->seconds * SECOND;
    measuring->at_last = measuring->until + calibrating->seconds * SECOND;
    r = measure(measuring, calibrating, &costs, ret_why);
    if (r == 0)
        *ret_costs = costs;
    return r;
}
