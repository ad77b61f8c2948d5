/* SPDX-License-Identifier: MIT */
/* What a file that is slow is found to be slow for: each cause apart, none, and several at once in their order. */
#include "fs/ctl/think/slow.h"
#include "test/support/rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#define MS      UINT64_C(1000000) /* ns */
#define MIB     (UINT64_C(1) << 20)
#define N_DISKS 4

/* So many reads that took so long each, on average. */
static void set_reads(struct slow_disk *disk, uint64_t n, double ms)
{
    disk->kind[WATCH_READS] = (struct tally_view){ .n = n, .ns = (uint64_t) (ms * (double) n * (double) MS) };
}

/* Ten seconds in which programs waited all the time, for disks that are evenly busy and have some time left; nothing is
 * wrong with it. */
static struct slow_figures usual(struct slow_disk disk[static N_DISKS])
{
    struct slow_figures figures = { .seconds = 10,
                                    .accesses = 1000,
                                    .bytes = 1000 * MIB,
                                    .active = 10,
                                    .waited = 20,
                                    .waited_plain = 20,
                                    .unit = 4 * MIB,
                                    .n_disks = N_DISKS,
                                    .disk = disk };

    for (uint32_t i = 0; i < N_DISKS; i++) {
        disk[i] = (struct slow_disk){ .has_file = true, .is_up = true, .busy = 5, .bytes = 250 * MIB };
        disk[i].file_bytes = disk[i].bytes;
        snprintf(disk[i].name, sizeof disk[i].name, "d%" PRIu32, i);
        set_reads(&disk[i], 250, 20);
    }
    return figures;
}

/* -- what is changed -- */

static void nothing(struct slow_figures *figures)
{
    (void) figures;
}

static void all_busy(struct slow_figures *figures)
{
    for (uint32_t i = 0; i < N_DISKS; i++)
        figures->disk[i].busy = 9;
}

static void idle(struct slow_figures *figures)
{
    figures->accesses = figures->bytes = 0;
    figures->active = figures->waited = figures->waited_plain = 0;
}

static void seldom(struct slow_figures *figures)
{
    all_busy(figures);
    figures->disk[1].busy = 0;
    figures->active = 0.4;
    figures->accesses = 20;
    figures->bytes = 20 << 12;
}

static void silent(struct slow_figures *figures)
{
    idle(figures);
    figures->disk[3].is_up = false;
    figures->disk[3].busy = 10;
}

static void errors(struct slow_figures *figures)
{
    figures->disk[0].errors = 1;
}

static void errors_elsewhere(struct slow_figures *figures)
{
    errors(figures);
    figures->disk[0].has_file = false;
}

static void hot(struct slow_figures *figures)
{
    for (uint32_t i = 0; i < N_DISKS; i++) {
        figures->disk[i].busy = i == 2 ? 9.4 : 2;
        set_reads(&figures->disk[i], i == 2 ? 700 : 100, i == 2 ? 60 : 20);
    }
}

static void hot_elsewhere(struct slow_figures *figures)
{
    hot(figures);
    figures->disk[2].has_file = false;
}

static void on_one_disk(struct slow_figures *figures)
{
    for (uint32_t i = 0; i < N_DISKS; i++) {
        figures->disk[i].has_file = i == 1;
        figures->disk[i].busy = i == 1 ? 10 : 0;
        set_reads(&figures->disk[i], i == 1 ? 1000 : 0, 10);
    }
    figures->layout_now = 1000 * MS;
    figures->layout_even = figures->layout_best = 250 * MS;
}

static void slow(struct slow_figures *figures)
{
    for (uint32_t i = 0; i < N_DISKS; i++)
        figures->disk[i].busy = i == 1 ? 10 : 1;
    set_reads(&figures->disk[1], 250, 200);
}

static void slow_a_little(struct slow_figures *figures)
{
    set_reads(&figures->disk[1], 250, 50);
}

static void slow_to_sync(struct slow_figures *figures)
{
    for (uint32_t i = 0; i < N_DISKS; i++) {
        set_reads(&figures->disk[i], 10, 1);
        figures->disk[i].kind[WATCH_SYNCS] = (struct tally_view){ .n = 20, .ns = (i == 3 ? 9000 : 400) * MS };
        figures->disk[i].busy = i == 3 ? 9 : 1;
    }
}

static void locks(struct slow_figures *figures)
{
    figures->range_waits = 300;
    figures->range_waited = 15;
}

static void small(struct slow_figures *figures)
{
    figures->bytes = figures->accesses << 12;
}

static void small_and_few(struct slow_figures *figures)
{
    figures->accesses = 15;
    figures->bytes = 15 << 12;
}

static void unaligned(struct slow_figures *figures)
{
    all_busy(figures);
    figures->crossing = 1000;
}

static void holes(struct slow_figures *figures)
{
    figures->waited_writing = 20;
    figures->bytes_written = 1000 * MIB;
    figures->reread = 9000 * MIB;
}

static void holes_aside(struct slow_figures *figures)
{
    holes(figures);
    figures->waited_writing = 2; /* it is reading that programs wait for */
}

static void layout(struct slow_figures *figures)
{
    all_busy(figures);
    figures->layout_now = figures->layout_even = 1000 * MS;
    figures->layout_best = 100 * MS;
}

static void layout_of_sections(struct slow_figures *figures)
{
    layout(figures);
    figures->waited_plain = 0;
}

static void layout_without_disks(struct slow_figures *figures)
{
    layout(figures);
    for (uint32_t i = 0; i < N_DISKS; i++)
        figures->disk[i].busy = 0.1; /* what they are asked for is in memory */
}

static void layout_only_aligns(struct slow_figures *figures)
{
    unaligned(figures);
    figures->layout_now = figures->layout_even = 1000 * MS;
    figures->layout_best = 500 * MS;
}

static void migration(struct slow_figures *figures)
{
    all_busy(figures);
    figures->jobs = 1;
    figures->background_bytes = 800 * MIB;
}

static void no_job(struct slow_figures *figures)
{
    migration(figures);
    figures->jobs = 0;
}

static void locks_and_holes(struct slow_figures *figures)
{
    locks(figures);
    holes(figures);
    figures->range_waited = 10;
}

static void all_at_once(struct slow_figures *figures)
{
    hot(figures);      /* (9.4 - (9.4 + 6) / 4) / 10 = 0.555 */
    small(figures);    /* (1 - 0.6) * 32 / 36 = 0.356 */
    errors(figures);   /* 1 */
    figures->jobs = 1; /* 0.94 * 0.3 = 0.282 */
    figures->background_bytes = 300 * MIB;
    figures->range_waited = 12; /* 0.6 */
}

Test(slow, why)
{
    static const struct {
        const char *why;
        void (*change)(struct slow_figures *figures);
        const char *want; /* causes in order, with the share in percent and the disk; or the limit */
    } cases[] = {
        { "nothing", nothing, "elsewhere" },
        { "disks give what they can", all_busy, "disks" },
        { "nobody does anything", idle, "idle" },
        { "hardly anybody does", seldom, "not_the_file" },
        { "a disk does not answer", silent, "failing_disk 100 d3" },
        { "a disk fails", errors, "failing_disk 100 d0" },
        { "one that has nothing of the file", errors_elsewhere, "elsewhere" },
        { "one disk is hot", hot, "hot_disk 56 d2" },
        { "one that has nothing of the file", hot_elsewhere, "elsewhere" },
        { "the file lies on one disk", on_one_disk, "hot_disk 75 d1" },
        { "one disk is slow", slow, "slow_disk 90 d1" },
        { "not much slower", slow_a_little, "elsewhere" },
        { "when it syncs", slow_to_sync, "slow_disk 86 d3" },
        { "programs wait for each other", locks, "lock_waits 75" },
        { "requests are small", small, "small_requests 89" },
        { "too few to tell", small_and_few, "elsewhere" },
        { "requests cross borders", unaligned, "unaligned 45" },
        { "holes are read before writing", holes, "holes 90" },
        { "which nobody waits for", holes_aside, "elsewhere" },
        { "another layout would do better", layout, "layout 81" },
        { "nobody knows, of sections", layout_of_sections, "disks" },
        { "disks have nothing to do with it", layout_without_disks, "elsewhere" },
        { "another layout only crosses fewer borders", layout_only_aligns, "unaligned 45" },
        { "beside a migration", migration, "migration 72" },
        { "bytes moved for something else", no_job, "disks" },
        { "locks, and holes in the rest of the time", locks_and_holes, "lock_waits 50, holes 45" },
        { "many", all_at_once, "failing_disk 100 d0, lock_waits 60, hot_disk 56 d2, small_requests 36, migration 28" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct slow_disk disk[N_DISKS];
        struct slow_figures figures = usual(disk);
        struct slow_verdict verdict;
        char got[512] = "";
        size_t len = 0;

        cases[i].change(&figures);
        verdict = slow_judge(&figures);
        for (uint32_t k = 0; k < verdict.n; k++) {
            const struct slow_finding *found = &verdict.finding[k];
            bool of_disk =
                found->cause == SLOW_FAILING_DISK || found->cause == SLOW_DISK || found->cause == SLOW_HOT_DISK;

            len += (size_t) snprintf(got + len, sizeof got - len, "%s%s %ld%s%s", k > 0 ? ", " : "",
                                     slow_cause_name(found->cause), lround(100 * found->share), of_disk ? " " : "",
                                     of_disk ? disk[found->disk].name : "");
        }
        cr_expect_str_eq(verdict.n > 0 ? got : slow_limit_name(verdict.limit), cases[i].want, "%s: %s", cases[i].why,
                         verdict.n > 0 ? got : slow_limit_name(verdict.limit));
    }
}

/* -- whatever is measured -- */

static double some_seconds(struct rng *rng)
{
    return rng_chance(rng, 20) ? 0 : (double) rng_below(rng, 20000) / 1000;
}

static uint64_t some_bytes(struct rng *rng)
{
    return rng_chance(rng, 20) ? 0 : rng_below(rng, UINT64_C(1) << rng_below(rng, 40));
}

static struct slow_figures random_figures(struct rng *rng, struct slow_disk disk[static N_DISKS])
{
    struct slow_figures figures = { .seconds = some_seconds(rng),
                                    .accesses = some_bytes(rng),
                                    .bytes = some_bytes(rng),
                                    .active = some_seconds(rng),
                                    .waited = some_seconds(rng),
                                    .waited_writing = some_seconds(rng),
                                    .waited_plain = some_seconds(rng),
                                    .bytes_written = some_bytes(rng),
                                    .crossing = some_bytes(rng),
                                    .range_waited = some_seconds(rng),
                                    .reread = some_bytes(rng),
                                    .jobs = rng_below(rng, 2),
                                    .background_bytes = some_bytes(rng),
                                    .n_disks = (uint32_t) rng_below(rng, N_DISKS + 1),
                                    .disk = disk,
                                    .layout_now = some_bytes(rng),
                                    .layout_even = some_bytes(rng),
                                    .layout_best = some_bytes(rng) };

    for (uint32_t i = 0; i < figures.n_disks; i++) {
        disk[i] = (struct slow_disk){ .has_file = rng_chance(rng, 80),
                                      .is_up = rng_chance(rng, 95),
                                      .busy = some_seconds(rng),
                                      .bytes = some_bytes(rng),
                                      .errors = rng_chance(rng, 5) };
        for (int kind = 0; kind < WATCH_KINDS; kind++)
            disk[i].kind[kind] = (struct tally_view){ .n = some_bytes(rng), .ns = some_bytes(rng) };
    }
    return figures;
}

/* Shares are shares, the largest come first, each cause once, and of disks those that have the file. */
Test(slow, whatever_is_measured)
{
    for (struct rng rng = rng_from_env(20000); rng_next(&rng);) {
        struct slow_disk disk[N_DISKS];
        struct slow_figures figures = random_figures(&rng, disk);
        struct slow_verdict verdict = slow_judge(&figures);
        unsigned seen = 0;

        cr_assert(verdict.disks_busy >= 0 && verdict.disks_busy <= 1, RNG_SEED, rng.seed);
        for (uint32_t i = 0; i < verdict.n; i++) {
            const struct slow_finding *found = &verdict.finding[i];

            cr_assert(found->share > 0 && found->share <= 1 && isfinite(found->ratio), RNG_SEED, rng.seed);
            cr_assert(i == 0 || verdict.finding[i - 1].share >= found->share, RNG_SEED, rng.seed);
            cr_assert((seen & 1U << found->cause) == 0, RNG_SEED, rng.seed);
            seen |= 1U << found->cause;
            if (found->cause == SLOW_FAILING_DISK || found->cause == SLOW_DISK || found->cause == SLOW_HOT_DISK)
                cr_assert(found->disk < figures.n_disks && disk[found->disk].has_file, RNG_SEED, rng.seed);
        }
        if (verdict.limit == SLOW_IDLE || verdict.limit == SLOW_NOT_FILE)
            cr_assert((seen & ~(1U << SLOW_FAILING_DISK)) == 0, RNG_SEED, rng.seed);
    }
}
