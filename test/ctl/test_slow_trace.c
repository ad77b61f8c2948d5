/* SPDX-License-Identifier: MIT */
/* What a trace says of a file that may be slow, beside a count of every millisecond and every byte. */
#include "fs/ctl/think/slow_trace.h"
#include "test/support/rng.h"

#include <criterion/criterion.h>
#include <math.h>

#define MS        UINT64_C(1000000) /* ns */
#define MAX_MS    200
#define MAX_LEN   40
#define UNIT      16
#define N_DISKS   4
#define N_ACCESS  30
#define MAX_BYTES 4096

/* A file on all disks, another one under way, two processes, and the kernel. */
static struct trace some_trace(struct rng *rng)
{
    struct trace trace = { .began = 1 };

    for (uint32_t i = 1; i <= 3; i++) /* the first and the last are one file, which had two names */
        cr_assert_eq(trace_add_file(&trace, (struct traced_file){ .number = i,
                                                                  .path = strdup("f"),
                                                                  .layout = strdup("one"),
                                                                  .inode = i == 2 ? 8 : 7,
                                                                  .size = MAX_BYTES }),
                     0);
    for (uint32_t i = 1; i <= 2; i++)
        cr_assert_eq(
            trace_add_process(&trace, (struct traced_process){ .number = i, .tgid = 100 + i, .name = strdup("") }), 0);
    for (uint64_t n = rng_below(rng, N_ACCESS); n > 0; n--)
        cr_assert_eq(trace_add_access(&trace, &(struct traced_access){ .offset = rng_below(rng, MAX_BYTES - MAX_LEN),
                                                                       .len = rng_below(rng, MAX_LEN),
                                                                       .at = rng_below(rng, MAX_MS) * MS,
                                                                       .took = (uint32_t) rng_below(rng, 50) * 1000,
                                                                       .process = (uint32_t) rng_below(rng, 3),
                                                                       .file = 1 + (uint32_t) rng_below(rng, 3),
                                                                       .flags = (uint16_t) rng_below(rng, 4) }),
                     0);
    cr_assert_eq(trace_resolve(&trace, (char[TRACE_WHY]){ "" }), 0);
    return trace;
}

/* What slow_trace_look must find. */
static struct slow_figures count(const struct trace *trace, uint32_t tgid)
{
    struct slow_figures figures = { .unit = UNIT };
    bool is_active[MAX_MS + 50] = { false };
    double ms = 0;

    for (size_t i = 0; i < trace->n_accesses; i++) {
        const struct traced_access *access = &trace->access[i];
        bool is_asked = tgid == 0 || (access->process != TRACE_NOBODY && trace->process[access->process].tgid == tgid);

        if (trace->file[access->file].inode != 7 || !is_asked)
            continue;
        figures.accesses++;
        figures.failed += (access->flags & TRACE_FAILED) != 0;
        figures.bytes += access->len;
        figures.bytes_written += (access->flags & TRACE_WRITES) != 0 ? access->len : 0;
        figures.waited += access->took / 1e6;
        figures.waited_writing += (access->flags & TRACE_WRITES) != 0 ? access->took / 1e6 : 0;
        figures.crossing += access->len > 0 && access->len <= UNIT &&
                            access->offset / UNIT != (access->offset + access->len - 1) / UNIT;
        for (uint64_t k = 0; k < access->took / 1000; k++)
            is_active[access->at / MS + k] = true;
    }
    for (size_t i = 0; i < ARRAY_SIZE(is_active); i++)
        ms += is_active[i];
    figures.active = ms / 1000;
    return figures;
}

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-9;
}

static void expect_same(const struct slow_figures *got, const struct slow_figures *want, uint64_t seed)
{
    cr_assert_eq(got->accesses, want->accesses, RNG_SEED, seed);
    cr_assert_eq(got->failed, want->failed, RNG_SEED, seed);
    cr_assert_eq(got->bytes, want->bytes, RNG_SEED, seed);
    cr_assert_eq(got->bytes_written, want->bytes_written, RNG_SEED, seed);
    cr_assert_eq(got->crossing, want->crossing, RNG_SEED, seed);
    cr_assert(is_near(got->active, want->active), RNG_SEED " %g, not %g", seed, got->active, want->active);
    cr_assert(is_near(got->waited, want->waited), RNG_SEED, seed);
    cr_assert(is_near(got->waited_plain, want->waited), RNG_SEED, seed);
    cr_assert(is_near(got->waited_writing, want->waited_writing), RNG_SEED, seed);
}

static void check(struct rng *rng, struct file_info *info)
{
    struct slow_disk disk[N_DISKS] = { { .name = "d0" }, { .name = "d1" }, { .name = "d2" }, { .name = "d3" } };
    struct slow_figures got = { .n_disks = N_DISKS, .disk = disk }, want;
    const struct slow_file file = { 7, rng_chance(rng, 50) ? 101 : 0, info, NULL };
    cleanup(trace_done) struct trace trace = some_trace(rng);
    cleanup(slow_advice_done) struct slow_advice advice = { .layout = NULL };
    uint64_t moved = 0, did = 0;
    uint32_t index;

    want = count(&trace, file.tgid);
    cr_assert_eq(slow_trace_gather(&trace, &file, &index), 0);
    cr_assert_str_eq(trace.file[index].layout, info->text);
    cr_assert_eq(slow_trace_look(&got, &trace, index, &file, &advice), 0);
    expect_same(&got, &want, rng->seed);
    for (uint32_t i = 0; i < N_DISKS; i++)
        moved += disk[i].file_bytes;
    for (size_t i = 0; i < trace.n_accesses; i++)
        if (trace.access[i].file == index && (trace.access[i].flags & TRACE_FAILED) == 0)
            did += trace.access[i].len;
    cr_assert_eq(moved, did, RNG_SEED " each byte is on one of the disks", rng->seed);
    cr_assert_eq(advice.layout != NULL, did > 0, RNG_SEED, rng->seed);
    cr_assert(got.layout_best <= got.layout_now + got.layout_now / 32, RNG_SEED " but for what is the same", rng->seed);
}

Test(slow_trace, as_it_is_counted)
{
    char text[] = "stripe(16) on d0-d3";
    uint32_t disk[N_DISKS] = { 1, 2, 3, 0 };
    struct file_info info = { .text = text, .n_disks = N_DISKS, .n_takes = N_DISKS, .disk = disk };
    struct layout_error error;

    cr_assert_eq(layout_parse(text, strlen(text), N_DISKS, &info.layout, &error), 0);
    for (struct rng rng = rng_from_env(300); rng_next(&rng);)
        check(&rng, &info);
    layout_free(info.layout);
}

Test(slow_trace, a_file_that_is_not_in_it)
{
    char text[] = "one";
    struct file_info info = { .text = text };
    struct trace trace = { .began = 1 };
    uint32_t index;

    cr_expect_eq(slow_trace_gather(&trace, &(struct slow_file){ 7, 0, &info, NULL }, &index), -ENOENT);
}
