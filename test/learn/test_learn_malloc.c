/* SPDX-License-Identifier: MIT */
/* Reading a trace and learning from it, with every one of the allocations failing, once and from there on: -ENOMEM,
 * nothing leaked, and right the next time. Leaks are found by the sanitizer build. */
#include "fs/learn/busy.h"
#include "fs/learn/fit.h"
#include "fs/learn/heat.h"
#include "fs/learn/predict.h"
#include "fs/learn/propose.h"
#include "fs/learn/shape.h"
#include "test/support/failmalloc.h"
#include "test/support/texts.h"

#include <criterion/criterion.h>

static const char lines[] = "1 9.1 openat(AT_FDCWD</>, \"f\", O_RDWR) = 3</f>\n"
                            "1 9.2 write(3</f>, \"\", 64) = 64\n"
                            "1 9.3 fork( <unfinished ...>\n"
                            "2 9.3 pread64(3</f>, \"\", 8, 0) = 8\n"
                            "1 9.4 <... fork resumed>) = 2\n"
                            "2 9.5 pread64(3</f>, \"\", 8, 16) = 8\n"
                            "2 9.6 pread64(3</f>, \"\", 8, 32) = 8\n"
                            "2 9.7 dup(3</f>) = 4</f>\n"
                            "1 9.8 pread64(3</f>, \"\", 8, 8) = 8\n";

static int load(struct trace *ret_trace)
{
    char why[TRACE_WHY];
    FILE *in = fmemopen(drop_const(lines), sizeof lines - 1, "r");
    int r = in == NULL ? -ENOMEM : trace_load(in, ret_trace, why);

    if (in != NULL)
        fclose(in);
    return r;
}

static int try_trace(const struct trace *unused)
{
    struct trace trace;
    int r = load(&trace);

    (void) unused;
    if (r == 0)
        trace_done(&trace);
    return r;
}

/* What is learned of one file, freed again. */
struct lesson {
    struct touches touches;
    struct chunks chunks;
    struct extents reads, writes;
    struct shapes shapes;
    struct proposal proposal;
    struct fit fit;
    struct busy busy;
    struct heat heat;
};

static void lesson_done(struct lesson *lesson)
{
    touches_done(&lesson->touches);
    chunks_done(&lesson->chunks);
    extents_done(&lesson->reads);
    extents_done(&lesson->writes);
    shapes_done(&lesson->shapes);
    proposal_done(&lesson->proposal);
    fit_done(&lesson->fit);
    busy_done(&lesson->busy);
    heat_done(&lesson->heat);
}

/* Judges the layout that was proposed. */
static int judge(struct lesson *lesson)
{
    const struct disk_cost cost = { .rate = 1 << 20 };
    const struct disk_costs costs[] = { { cost, cost }, { cost, cost } };
    const struct disk_cache cache = { .page = 16, .ahead = 64 };
    const struct pattern *pattern = lesson->proposal.layout->pattern;
    int r = fit_init(&lesson->fit, pattern, &lesson->touches, &lesson->reads, &lesson->writes);

    if (r == 0)
        r = busy_init_cached(&lesson->busy, pattern, 2, &lesson->touches, EXTENTS_ALL, costs, &cache);
    return r == 0 ? heat_of_disks(&lesson->heat, &lesson->touches, pattern, 2) : r;
}

static int try_lesson(const struct trace *trace)
{
    cleanup(lesson_done) struct lesson lesson = { 0 };
    const struct proposing proposing = {
        .chunks = &lesson.chunks, .n_ranks = 2, .reading = PARTITION_FIGURE, .size = 64, .unit = 16
    };
    int r = touches_init(&lesson.touches, trace, 0, NULL);

    if (r == 0)
        r = chunks_init(&lesson.chunks, &lesson.touches);
    if (r == 0)
        r = extents_init(&lesson.reads, &lesson.touches, EXTENTS_READ);
    if (r == 0)
        r = extents_init(&lesson.writes, &lesson.touches, EXTENTS_WRITTEN);
    if (r == 0)
        r = shapes_init(&lesson.shapes, &lesson.reads);
    if (r == 0)
        r = proposal_init(&lesson.proposal, &proposing);
    return r == 0 ? judge(&lesson) : r;
}

/* What is foretold of the same run, by itself. */
static int try_prediction(const struct trace *trace)
{
    cleanup(touches_done) struct touches touches = { 0 };
    cleanup(prediction_done) struct prediction prediction = { 0 };
    const struct predicting predicting = { .touches = &touches, .size = 64, .also = &touches, .growth = GROWTHS };
    struct predict_why why;
    int r = touches_init(&touches, trace, 0, NULL);

    if (r == 0)
        r = prediction_init(&prediction, &predicting, &why);
    cr_assert(r < 0 || prediction.touches.n == touches.n);
    return r;
}

static void survives(int (*attempt)(const struct trace *trace), const struct trace *trace, const char *what)
{
    for (int persistent = 0; persistent < 2; persistent++) {
        unsigned n = 1;

        for (;; n++) {
            int r;

            failmalloc_arm(n, persistent);
            r = attempt(trace);
            if (!failmalloc_disarm()) {
                cr_expect_eq(r, 0, "%s: %d with no allocation failing", what, r);
                break;
            }
            cr_assert_eq(r, -ENOMEM, "%s: %d with allocation %u failing", what, r, n);
        }
        cr_expect_gt(n, 10, "%s allocates nearly nothing: this tests nothing", what);
    }
}

Test(learn_malloc, traces)
{
    survives(try_trace, NULL, "a trace");
}

Test(learn_malloc, lessons)
{
    struct trace trace;

    cr_assert_eq(load(&trace), 0);
    survives(try_lesson, &trace, "a lesson");
    survives(try_prediction, &trace, "a prediction");
    trace_done(&trace);
}
