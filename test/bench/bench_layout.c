/* SPDX-License-Identifier: MIT */
/* The layout algebra against hand-written loops, both in this process and interleaved, so that a busy machine slows
 * them alike. Prints medians and ratios as a Markdown table. */
#include "layout/clock.h"
#include "layout/gather.h"
#include "layout/layout.h"
#include "layout/map.h"
#include "layout/overlap.h"
#include "test/bench/peers.h"

#include <stdio.h>
#include <string.h>

#define ROUNDS 41

static volatile uint64_t sink; /* keeps what is measured from being optimised away */
static bool missed;            /* some bar */

static double now(void)
{
    return (double) clock_ns();
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;

    return (x > y) - (x < y);
}

static double median(double *value)
{
    qsort(value, ROUNDS, sizeof value[0], compare_doubles);
    return value[ROUNDS / 2];
}

/* One thing to measure: does its work and returns how many units that was. */
typedef uint64_t job(void *context);

struct pair {
    double ours, theirs; /* ns per unit, medians */
};

/* Long enough for a passing disturbance not to be all there is. */
static double once(job *work, void *context)
{
    double start = now(), spent;
    uint64_t units = 0;

    do {
        units += work(context);
        spent = now() - start;
    } while (spent < 100e3);
    return spent / (double) units;
}

static struct pair measure(job *ours, job *theirs, void *context)
{
    double a[ROUNDS], b[ROUNDS];

    for (unsigned i = 0; i < ROUNDS; i++) {
        a[i] = once(ours, context);
        b[i] = once(theirs, context);
    }
    return (struct pair){ median(a), median(b) };
}

static const char *verdict(bool met)
{
    missed = missed || !met;
    return met ? "" : " **missed**";
}

static void row(const char *what, struct pair p, const char *unit, double bar)
{
    printf("| %s | %.2f %s | %.2f %s | %.2f | ≤ %.2f%s |\n", what, p.ours, unit, p.theirs, unit, p.ours / p.theirs, bar,
           verdict(p.ours / p.theirs <= bar));
}

static struct layout *parse(const char *text)
{
    struct layout_error error;
    struct layout *layout = NULL;

    if (layout_parse(text, strlen(text), 0, &layout, &error) < 0) {
        fprintf(stderr, "%s: column %zu: %s\n", text, error.column, error.why);
        exit(1);
    }
    return layout;
}

/* -- runs, map, unmap -- */

#define RANGE  (UINT64_C(64) << 30)
#define POINTS 100000

struct mapping {
    struct layout *layout;
    uint64_t unit, n;
    uint64_t point[POINTS];
    struct place place[POINTS];
};

static uint64_t our_runs(void *context)
{
    const struct mapping *m = context;
    struct runs runs;
    struct run run;
    uint64_t n = 0, sum = 0;

    runs_init(&runs, m->layout->pattern, 12345, RANGE);
    while (runs_next(&runs, &run)) {
        sum += run.sub_off ^ run.element ^ run.len;
        n++;
    }
    sink += sum;
    return n;
}

static uint64_t their_runs(void *context)
{
    const struct mapping *m = context;
    struct peer_run run;
    uint64_t n = 0, sum = 0;

    for (uint64_t off = 12345, end = off + RANGE; off < end; off += run.len) {
        run = peer_next_run(off, end, m->unit, m->n);
        sum += run.sub_off ^ run.element ^ run.len;
        n++;
    }
    sink += sum;
    return n;
}

static uint64_t our_map(void *context)
{
    const struct mapping *m = context;
    struct place place;
    uint64_t sum = 0;

    for (size_t i = 0; i < POINTS; i++) {
        pattern_map(m->layout->pattern, m->point[i], &place);
        sum += place.sub_off ^ place.element;
    }
    sink += sum;
    return POINTS;
}

static uint64_t their_map(void *context)
{
    const struct mapping *m = context;
    uint64_t sum = 0;

    for (size_t i = 0; i < POINTS; i++) {
        struct peer_run run = peer_map(m->point[i], m->unit, m->n);

        sum += run.sub_off ^ run.element;
    }
    sink += sum;
    return POINTS;
}

static uint64_t our_unmap(void *context)
{
    const struct mapping *m = context;
    uint64_t off, sum = 0;

    for (size_t i = 0; i < POINTS; i++) {
        pattern_unmap(m->layout->pattern, m->place[i].element, m->place[i].sub_off, &off);
        sum += off;
    }
    sink += sum;
    return POINTS;
}

static uint64_t their_unmap(void *context)
{
    const struct mapping *m = context;
    uint64_t sum = 0;

    for (size_t i = 0; i < POINTS; i++)
        sum += peer_unmap(m->place[i].element, m->place[i].sub_off, m->unit, m->n);
    sink += sum;
    return POINTS;
}

static void bench_stripe(const char *text, uint64_t unit, uint64_t n)
{
    struct mapping *m = calloc(1, sizeof *m);
    uint64_t state = 1;
    char what[96];

    m->layout = parse(text);
    m->unit = unit;
    m->n = n;
    for (size_t i = 0; i < POINTS; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        m->point[i] = state >> 22;
        pattern_map(m->layout->pattern, m->point[i], &m->place[i]);
    }
    snprintf(what, sizeof what, "a run of `%s`", text);
    row(what, measure(our_runs, their_runs, m), "ns", 1.5);
    snprintf(what, sizeof what, "map one byte of `%s`", text);
    row(what, measure(our_map, their_map, m), "ns", 2);
    snprintf(what, sizeof what, "unmap one byte of `%s`", text);
    row(what, measure(our_unmap, their_unmap, m), "ns", 2);
    layout_free(m->layout);
    free(m);
}

static uint64_t some_runs(void *context)
{
    const struct mapping *m = context;
    struct runs runs;
    struct run run;
    uint64_t n = 0, sum = 0;

    runs_init(&runs, m->layout->pattern, 12345, RANGE);
    for (; n < 200000 && runs_next(&runs, &run); n++)
        sum += run.sub_off ^ run.element ^ run.len;
    sink += sum;
    return n;
}

static void bench_nested(const char *text)
{
    struct mapping m = { .layout = parse(text) };
    double ns[ROUNDS], per_level;
    uint32_t depth = m.layout->pattern->cover->depth;

    for (unsigned i = 0; i < ROUNDS; i++)
        ns[i] = once(some_runs, &m);
    per_level = median(ns) / depth;
    printf("| a run of `%s` | %.2f ns, %" PRIu32 " levels | | %.2f ns a level | ≤ 20%s |\n", text, median(ns), depth,
           per_level, verdict(per_level <= 20));
    layout_free(m.layout);
}

/* -- intersect -- */

struct matrices {
    struct layout *a, *b;
};

static uint64_t intersect_all(void *context)
{
    const struct matrices *m = context;

    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t j = 0; j < 4; j++) {
            struct overlap overlap = { 0 };

            if (overlap_of_elements(m->a->pattern, i, m->b->pattern, j, &overlap) < 0)
                exit(1);
            sink += overlap.size;
            overlap_done(&overlap);
        }
    return 1;
}

static void bench_matrices(const char *kind_a, const char *kind_b)
{
    double first = 0;

    printf("| all 16 pairs of %s and %s |", kind_a, kind_b);
    for (uint64_t n = 256; n <= 65536; n *= 16) {
        static const char *const dist[] = { "rows",    "(block,*), grid=4x1",    "columns", "(*,block), grid=1x4",
                                            "squares", "(block,block), grid=2x2" };
        struct matrices m;
        double ns[ROUNDS];
        char text[2][128];

        for (unsigned i = 0; i < 2; i++)
            for (size_t k = 0; k < ARRAY_SIZE(dist); k += 2)
                if (strcmp(i == 0 ? kind_a : kind_b, dist[k]) == 0)
                    snprintf(text[i], sizeof text[i], "array(shape=%" PRIu64 "x%" PRIu64 ", dist=%s)", n, n,
                             dist[k + 1]);
        m = (struct matrices){ parse(text[0]), parse(text[1]) };
        for (unsigned i = 0; i < ROUNDS; i++)
            ns[i] = once(intersect_all, &m);
        if (n == 256)
            first = median(ns);
        printf(" %.1f µs", median(ns) / 1000);
        if (n == 4096)
            fputs(" |", stdout);
        if (n == 65536)
            printf(" | %.2f of n = 256 | ≤ 100 µs, flat%s |\n", median(ns) / first,
                   verdict(median(ns) < 100e3 && median(ns) / first < 1.5));
        layout_free(m.a);
        layout_free(m.b);
    }
}

/* -- gather and scatter -- */

struct copying {
    struct nest *nest;
    size_t len, stride, n;
    unsigned char *spread, *packed;
    peer_copy *peer_gather, *peer_scatter;
};

static uint64_t our_gather(void *context)
{
    const struct copying *c = context;

    return nest_gather(c->nest, 0, c->n * c->stride, c->spread, c->packed) + (sink & 0);
}

static uint64_t our_scatter(void *context)
{
    const struct copying *c = context;

    return nest_scatter(c->nest, 0, c->n * c->stride, c->spread, c->packed);
}

static uint64_t their_memcpy(void *context)
{
    const struct copying *c = context;

    memcpy(c->packed, c->spread, c->n * c->len);
    return c->n * c->len;
}

static uint64_t their_gather(void *context)
{
    const struct copying *c = context;

    c->peer_gather(c->packed, c->spread, c->len, c->stride, c->n);
    return c->n * c->len;
}

static uint64_t their_scatter(void *context)
{
    const struct copying *c = context;

    c->peer_scatter(c->spread, c->packed, c->len, c->stride, c->n);
    return c->n * c->len;
}

/* Against the faster of the two ways to compile the loop by hand. */
static struct pair measure_copy(job *ours, job *theirs, struct copying *c)
{
    struct pair any, native;

    c->peer_gather = peer_gather_any;
    c->peer_scatter = peer_scatter_any;
    any = measure(ours, theirs, c);
    c->peer_gather = peer_gather_native;
    c->peer_scatter = peer_scatter_native;
    native = measure(ours, theirs, c);
    return any.theirs < native.theirs ? any : native;
}

/* Bytes are units, so ns per unit turn into GB/s. */
static void copy_row(const char *what, struct pair p, double bar)
{
    double ours = 1 / p.ours, theirs = 1 / p.theirs;

    printf("| %s | %.2f GB/s | %.2f GB/s | %.2f | ≥ %.2f%s |\n", what, ours, theirs, ours / theirs, bar,
           verdict(ours / theirs >= bar));
}

static void copying_init(struct copying *c, size_t len, size_t stride, size_t bytes)
{
    struct layout_error error;
    char text[96];

    *c = (struct copying){ .len = len, .stride = stride, .n = bytes / len };
    c->spread = aligned_alloc(4096, (c->n * stride + 4095) / 4096 * 4096);
    c->packed = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    memset(c->spread, 1, c->n * stride);
    memset(c->packed, 2, bytes);
    snprintf(text, sizeof text, "{(0,%zu,%zu,%zu)}", len - 1, stride, c->n);
    if (nest_parse(text, strlen(text), &c->nest, &error) < 0)
        exit(1);
}

static void copying_done(struct copying *c)
{
    nest_free(c->nest);
    free(c->spread);
    free(c->packed);
}

static void bench_pieces(size_t len, size_t stride, size_t bytes)
{
    struct copying c;
    char what[128];

    copying_init(&c, len, stride, bytes);
    for (int scattering = 0; scattering < 2; scattering++) {
        snprintf(what, sizeof what, "%s pieces of %zu every %zu, %zu KiB, against memcpy",
                 scattering ? "scatter" : "gather", len, stride, bytes >> 10);
        copy_row(what, measure(scattering ? our_scatter : our_gather, their_memcpy, &c), 0.8);
    }
    copying_done(&c);
}

/* The row of the stride that comes off worst. */
static void bench_elements(size_t len, bool scattering, size_t bytes)
{
    struct pair worst = { 0 };
    size_t worst_step = 0;
    char what[128];

    for (size_t step = 2; step <= 16; step++) {
        struct copying c;
        struct pair p;

        copying_init(&c, len, len * step, bytes);
        p = scattering ? measure_copy(our_scatter, their_scatter, &c) : measure_copy(our_gather, their_gather, &c);
        if (worst_step == 0 || p.ours / p.theirs > worst.ours / worst.theirs) {
            worst = p;
            worst_step = step;
        }
        copying_done(&c);
    }
    snprintf(what, sizeof what, "%s %zu-byte elements, stride 2 to 16, %zu KiB; worst is %zu",
             scattering ? "scatter" : "gather", len, bytes >> 10, worst_step);
    copy_row(what, worst, 0.95);
}

/* -- building -- */

static uint64_t build_layout(void *text)
{
    layout_free(parse(text));
    return 1;
}

static void bench_building(const char *text, double bar)
{
    double ns[ROUNDS], us;
    char copy[256];

    snprintf(copy, sizeof copy, "%s", text);
    for (unsigned i = 0; i < ROUNDS; i++)
        ns[i] = once(build_layout, copy);
    us = median(ns) / 1000;
    printf("| parse, prove and build `%s` | %.1f µs | | | ≤ %.0f µs%s |\n", text, us, bar, verdict(us <= bar));
}

int main(void)
{
    printf("| what | fallsfs | hand-written | ratio | bar |\n|---|---|---|---|---|\n");
    bench_stripe("stripe(64K,4)", 65536, 4);
    bench_stripe("stripe(60000,7)", 60000, 7);
    bench_nested("array(shape=4096x4096, elem=8, dist=(block,block), grid=2x2)");
    bench_nested("array(shape=4096x4096, elem=8, dist=(cyclic(3),cyclic(5)), grid=2x2)");
    bench_nested("array(shape=200x200x200, elem=4, dist=(cyclic(3),cyclic(5),cyclic(7)), grid=2x2x2)");
    bench_nested("array(shape=50x50x50x50, elem=4, dist=(cyclic(3),cyclic(4),cyclic(3),cyclic(5)), grid=2x2x2x2)");
    bench_matrices("rows", "columns");
    bench_matrices("rows", "squares");
    bench_matrices("columns", "squares");
    bench_building("stripe(64K,4)", 10);
    bench_building("{(0,0,2,562949953421312);(1,1,2,562949953421312)}", 10);
    bench_building("array(shape=1048576x1048576, elem=8, dist=(cyclic(7),cyclic(13)), grid=4x4)", 100);
    bench_building("stripe(1,4096)", 10000);
    bench_pieces(256, 512, 256 << 10);
    bench_pieces(256, 320, 256 << 10);
    bench_pieces(1024, 1536, 256 << 10);
    bench_pieces(4096, 8192, 256 << 10);
    bench_pieces(4096, 8192, 16 << 20);
    for (size_t len = 4; len <= 8; len *= 2) {
        bench_elements(len, false, 64 << 10);
        bench_elements(len, true, 64 << 10);
    }
    return missed;
}
