/* SPDX-License-Identifier: MIT */
/* Any bytes as a trace: of fallsfs, or lines as of strace. What is read names nothing that is not there, and can be
 * learned from. */
#include "fs/ctl/think/pattern_read.h"
#include "fs/learn/busy.h"
#include "fs/learn/chunk.h"
#include "fs/learn/heat.h"
#include "fs/learn/propose.h"
#include "fs/learn/shape.h"
#include "test/fuzz/fuzz.h"

static void check_accesses(const struct trace *trace)
{
    for (size_t i = 0; i < trace->n_accesses; i++) {
        const struct traced_access *access = &trace->access[i];

        REQUIRE(access->file == TRACE_NOBODY || access->file < trace->n_files);
        REQUIRE(access->process == TRACE_NOBODY || access->process < trace->n_processes);
        REQUIRE(access->pattern == TRACE_NOBODY || access->pattern < trace->n_patterns);
        REQUIRE(access->len <= FALLS_LIMIT && access->offset <= FALLS_LIMIT - access->len);
    }
}

static void check_chunks(const struct chunks *chunks, const struct touches *touches)
{
    uint64_t end = 0;

    for (size_t i = 0; i < chunks->n; i++) {
        const struct chunk *chunk = &chunks->chunk[i];

        REQUIRE(chunk->off >= end && chunk->end > chunk->off && chunk->end <= touches->end);
        REQUIRE(chunk->first < touches->n && chunk->top < touches->n_ranks && chunk->top_reader < touches->n_ranks);
        REQUIRE(chunk->ranks > 0 && chunk->ranks <= chunk->readers + chunk->writers);
        end = chunk->end;
    }
}

/* Every byte that is touched is on the maps once. */
static void check_maps(const struct touches *touches)
{
    int (*const make[])(struct heat * heat, const struct touches *of, uint64_t size) = { heat_of_times, heat_of_ranks };
    uint64_t touched = 0;

    for (size_t i = 0; i < touches->n; i++)
        touched += touches->touch[i].end - touches->touch[i].off;
    for (size_t i = 0; i < ARRAY_SIZE(make); i++) {
        uint64_t moved = 0;
        struct heat heat;

        REQUIRE(make[i](&heat, touches, 0) == 0);
        for (size_t cell = 0; cell < (size_t) heat.rows * heat.cols; cell++)
            moved += heat.read[cell] + heat.written[cell];
        REQUIRE(moved == touched);
        heat_done(&heat);
    }
}

/* What is long takes long to be counted request by request. */
static void check_busy(const struct proposal *proposal, const struct touches *touches)
{
    const struct disk_cost cost = { .seek = UINT64_C(1) << 40, .call = 1, .rate = 1024 };
    const struct disk_costs costs[] = { { cost, cost }, { cost, cost }, { cost, cost } };
    const struct disk_cache cache = { .page = 4096, .ahead = 1 << 17 };
    struct busy busy;

    if (touches->end > (UINT64_C(1) << 30))
        return;
    REQUIRE(busy_init(&busy, proposal->layout->pattern, 3, touches, EXTENTS_ALL, costs) == 0);
    REQUIRE(busy.most <= busy.all && busy.seeks <= busy.requests && busy.requests >= touches->n);
    REQUIRE(busy.most <= busy.elapsed);
    busy_done(&busy);
    REQUIRE(busy_init_cached(&busy, proposal->layout->pattern, 3, touches, EXTENTS_ALL, costs, &cache) == 0);
    REQUIRE(busy.most <= busy.elapsed && busy.seeks <= busy.requests);
    busy_done(&busy);
}

static void learn(const struct trace *trace, uint32_t file, struct nest *const pattern[])
{
    struct proposing proposing = { .reading = PARTITION_FIGURE, .n_disks = 3, .unit = 1 << 16 };
    struct proposal proposal;
    struct extents extents;
    struct touches touches;
    struct chunks chunks;
    struct shapes shapes;

    REQUIRE(touches_init(&touches, trace, file, pattern) == 0);
    REQUIRE(chunks_init(&chunks, &touches) == 0);
    REQUIRE(extents_init(&extents, &touches, EXTENTS_ALL) == 0);
    REQUIRE(shapes_init(&shapes, &extents) == 0);
    check_chunks(&chunks, &touches);
    proposing.chunks = &chunks;
    proposing.n_ranks = touches.n_ranks;
    proposing.size = touches.end;
    if (proposal_init(&proposal, &proposing) == 0) {
        check_busy(&proposal, &touches);
        REQUIRE(strlen(proposal.text) <= FALLS_MAX_TEXT && proposal.misplaced <= proposal.placed);
        proposal_done(&proposal);
    }
    check_maps(&touches);
    shapes_done(&shapes);
    extents_done(&extents);
    chunks_done(&chunks);
    touches_done(&touches);
}

static void learn_all(const struct trace *trace)
{
    struct nest **pattern = calloc(MAX(trace->n_patterns, 1), sizeof(struct nest *));

    REQUIRE(pattern != NULL);
    for (size_t i = 0; i < trace->n_patterns; i++)
        if (pattern_read(trace->pattern[i].text, 3, &pattern[i]) == 0 && pattern[i]->size > 10000) {
            nest_free(pattern[i]); /* piece by piece that could take long */
            pattern[i] = NULL;
        }
    for (uint32_t i = 0; i < MIN(trace->n_files, 4); i++)
        learn(trace, i, pattern);
    for (size_t i = 0; i < trace->n_patterns; i++)
        nest_free(pattern[i]);
    free(pattern);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FILE *in = size > 0 ? fmemopen(drop_const(data), size, "r") : NULL;
    char why[TRACE_WHY] = "";
    struct trace trace;
    int r;

    if (in == NULL)
        return 0;
    r = trace_load(in, &trace, why);
    fclose(in);
    if (r < 0) {
        REQUIRE(why[0] != 0 && (r == -EBADMSG || r == -E2BIG));
        return 0;
    }
    check_accesses(&trace);
    learn_all(&trace);
    trace_done(&trace);
    return 0;
}
