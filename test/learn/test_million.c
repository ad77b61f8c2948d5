/* SPDX-License-Identifier: MIT */
/* A million chunks take at most 5 s of processor time and 500 MB, be they regular or not. Sanitizers take more of both:
 * there fewer are looked at, and nothing is measured. */
#include "fs/learn/fit.h"
#include "fs/learn/predict.h"
#include "fs/learn/propose.h"
#include "fs/learn/shape.h"
#include "test/support/rng.h"

#include <criterion/criterion.h>
#include <sys/resource.h>
#include <time.h>

#define CHUNKS    1000000
#define PROCESSES 25

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

/* A trace of accesses side by side: column blocks, or anybody anywhere. */
static struct trace make_trace(size_t n, bool regular)
{
    struct rng rng = rng_from_seed(17);
    struct trace trace = { .access = calloc(n, sizeof *trace.access),
                           .n_accesses = n,
                           .process = calloc(PROCESSES, sizeof *trace.process),
                           .n_processes = PROCESSES };

    for (size_t i = 0; i < n; i++) {
        uint32_t process = (uint32_t) (i / (n / PROCESSES)) % PROCESSES;
        uint64_t row = i % (n / PROCESSES);

        trace.access[i] = (struct traced_access){
            .offset = regular ? (row * PROCESSES + process) * 512 : rng_below(&rng, n) * 512,
            .len = regular ? 512 : rng_between(&rng, 1, 700),
            .at = i,
            .process = regular ? process : (uint32_t) rng_below(&rng, PROCESSES),
            .pattern = TRACE_NOBODY,
            .flags = rng_chance(&rng, regular ? 100 : 50) ? TRACE_WRITES : 0,
        };
    }
    return trace;
}

/* Regular accesses are foretold for fewer processes; others are found out not to be. */
static void foretell(const struct trace *trace, bool regular)
{
    struct touches touches;
    const struct predicting predicting = { .touches = &touches, .procs = PROCESSES / 5, .growth = GROWTH_LENGTHS };
    struct prediction prediction;
    struct predict_why why;
    int r;

    cr_assert_eq(touches_init(&touches, trace, 0, NULL), 0);
    r = prediction_init(&prediction, &predicting, &why);
    cr_assert_eq(r, regular ? 0 : -EDOM);
    if (r == 0) {
        cr_assert(prediction.touches.n * 5 == touches.n);
        prediction_done(&prediction);
    }
    touches_done(&touches);
}

static void learn(const struct trace *trace, bool regular)
{
    static const char text[] = "stripe(64K,5)";
    cleanup(layout_freep) struct layout *layout = NULL;
    struct extents reads, writes;
    struct proposal proposal;
    struct layout_error error;
    struct touches touches;
    struct chunks chunks;
    struct shapes shapes;
    struct fit fit;

    cr_assert_eq(touches_init(&touches, trace, 0, NULL), 0);
    cr_assert_eq(chunks_init(&chunks, &touches), 0);
    cr_assert_eq(extents_init(&reads, &touches, EXTENTS_READ), 0);
    cr_assert_eq(extents_init(&writes, &touches, EXTENTS_WRITTEN), 0);
    cr_assert_eq(shapes_init(&shapes, &writes), 0);
    for (int reading = PARTITION_TEXT; reading <= PARTITION_FIGURE; reading++) {
        const struct proposing proposing = { &chunks,     touches.n_ranks, 5, (enum partition_reading) reading,
                                             touches.end, 1 << 20 };

        cr_assert_eq(proposal_init(&proposal, &proposing), 0);
        cr_assert(!regular || proposal.misplaced == 0);
        cr_assert(regular || proposal.misplaced > 0);
        proposal_done(&proposal);
    }
    cr_assert_eq(layout_parse(text, strlen(text), 5, &layout, &error), 0);
    cr_assert_eq(fit_init(&fit, layout->pattern, &touches, &reads, &writes), 0);
    cr_assert(!regular || (shapes.n == 1 && shapes.group[0].kind == SHAPE_COLUMNS));
    fit_done(&fit);
    shapes_done(&shapes);
    extents_done(&reads);
    extents_done(&writes);
    chunks_done(&chunks);
    touches_done(&touches);
}

static void measure(void (*what)(const struct trace *trace, bool regular), bool regular)
{
    bool is_part = getenv("FALLSFS_MAX_CASES") != NULL;
    struct trace trace = make_trace(is_part ? CHUNKS / 40 : CHUNKS, regular);
    double before = seconds(), took;
    struct rusage used;

    what(&trace, regular);
    took = seconds() - before;
    cr_assert_eq(getrusage(RUSAGE_SELF, &used), 0);
    free(trace.access);
    free(trace.process);
    cr_log_info("%.2f s, %ld MB", took, used.ru_maxrss / 1024);
    cr_expect(is_part || took < 5, "%.2f s", took);
    cr_expect(is_part || used.ru_maxrss < 500 * 1024, "%ld KB", used.ru_maxrss);
}

Test(million, of_column_blocks)
{
    measure(learn, true);
}

Test(million, of_anything)
{
    measure(learn, false);
}

Test(million, of_column_blocks_foretold)
{
    measure(foretell, true);
}

Test(million, of_anything_not_foretold)
{
    measure(foretell, false);
}
