/* SPDX-License-Identifier: MIT */
/* What disks did between two looks at a mount, of what the mount says in JSON. */
#include "fs/ctl/think/rates.h"
#include "test/support/rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#define MAX_CALLS 200

/* A disk whose calls are all known. */
struct known {
    uint32_t n;
    uint64_t ns[MAX_CALLS], bytes[MAX_CALLS];
    struct tally tally;
};

static void ask(struct known *known, struct rng *rng, uint32_t n)
{
    for (uint32_t i = 0; i < n && known->n < MAX_CALLS; i++) {
        uint64_t ns = rng_below(rng, UINT64_C(1000) << rng_below(rng, 20)), bytes = rng_below(rng, 1 << 20);

        known->ns[known->n] = ns;
        known->bytes[known->n++] = bytes;
        tally_note(&known->tally, ns, bytes);
    }
}

/* What a mount says that has this disk alone, and only reads. */
static void look(const struct known *known, uint64_t began, uint64_t mounted_ns, struct stats *ret_stats)
{
    struct tally_view view = tally_look(&known->tally);
    cleanup(freep) char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    fprintf(out,
            "{\"output_version\":1,\"began_ns\":%" PRIu64 ",\"mounted_ns\":%" PRIu64
            ",\"disks\":[{\"disk\":\"d0\",\"up\":true,\"queue\":3,\"calls\":[{\"kind\":\"read\",\"bytes\":%" PRIu64
            ",\"ns\":%" PRIu64 ",\"buckets\":[",
            began, mounted_ns, view.bytes, view.ns);
    for (uint32_t i = 0; i < TALLY_BUCKETS; i++)
        fprintf(out, "%s%" PRIu64, i > 0 ? "," : "", view.bucket[i]);
    fputs("]}]}]}", out);
    fclose(out);
    cr_assert_eq(stats_read(text, ret_stats), 0, "%s", text);
}

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * MAX(fabs(a), fabs(b));
}

/* The sums of what came from call number first on. */
static void check(const struct known *known, uint32_t first, double seconds, const struct rates *rates)
{
    uint64_t ns = 0, bytes = 0;

    for (uint32_t i = first; i < known->n; i++) {
        ns += known->ns[i];
        bytes += known->bytes[i];
    }
    cr_assert(is_near(rates->seconds, seconds));
    cr_assert(is_near(rates->calls[WATCH_READS], (known->n - first) / seconds));
    cr_assert(is_near(rates->bytes[WATCH_READS], (double) bytes / seconds));
    cr_assert(is_near(rates->n_waiting, (double) ns / 1e9 / seconds));
    cr_assert_leq(rates->median[WATCH_READS], rates->percentile[WATCH_READS]);
    cr_assert_eq(rates->calls[WATCH_WRITES], 0);
}

Test(rates, are_what_came_in_between)
{
    for (struct rng rng = rng_from_env(300); rng_next(&rng);) {
        cleanup(stats_done) struct stats before = { 0 };
        cleanup(stats_done) struct stats now = { 0 };
        struct known known = { .n = 0 };
        struct rates rates;
        uint32_t first;

        ask(&known, &rng, (uint32_t) rng_below(&rng, 100));
        look(&known, 17, 2000000000, &before);
        rates = rates_of(NULL, &before, &before.disk[0]);
        check(&known, 0, 2, &rates);
        first = known.n;
        ask(&known, &rng, (uint32_t) rng_below(&rng, 100));
        look(&known, 17, 2500000000, &now);
        rates = rates_of(&before, &now, &now.disk[0]);
        check(&known, first, 0.5, &rates);
        now.began_ns = 18;
        rates = rates_of(&before, &now, &now.disk[0]);
        check(&known, 0, 2.5, &rates);
    }
}

Test(rates, of_a_disk_that_has_joined)
{
    struct stats_disk disk = {
        .name = "d1", .errors = 2, .busy_ns = 500000000, .kind[WATCH_READS] = { .n = 4, .bucket[0] = 4 }
    };
    struct stats before = { .began_ns = 1, .mounted_ns = 1000000000 };
    struct stats now = { .began_ns = 1, .mounted_ns = 3000000000, .n_disks = 1, .disk = &disk };
    struct rates rates = rates_of(&before, &now, &disk);

    cr_expect_eq(rates.calls[WATCH_READS], 2);
    cr_expect_eq(rates.errors, 2);
    cr_expect_eq(rates.busy, 0.25);
}

/* A daemon may be any program: what it says is taken as far as it makes sense, or refused. */
Test(rates, of_what_makes_no_sense)
{
    static const char *const texts[] = {
        "{}",
        "{\"disks\":{}}",
        "{\"disks\":[1,null,[],{}]}",
        "{\"disks\":[{\"disk\":\"a name that is longer than any disk may have, by far\",\"calls\":[{\"kind\":7}]}]}",
        "{\"disks\":[{\"calls\":[{\"kind\":\"read\",\"buckets\":[-1,\"x\",18446744073709551615,18446744073709551615]}]}]}",
        "{\"operations\":[{\"operation\":null,\"buckets\":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}]}",
        "{\"mounted_ns\":0,\"disks\":[{\"disk\":\"d0\"}]}",
    };

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        cleanup(stats_done) struct stats stats = { 0 };

        cr_expect_eq(stats_read(texts[i], &stats), 0, "%s", texts[i]);
        for (uint32_t k = 0; k < stats.n_disks; k++) {
            struct rates rates = rates_of(NULL, &stats, &stats.disk[k]);

            cr_expect(isfinite(rates.calls[WATCH_READS]) && isfinite(rates.n_waiting), "%s", texts[i]);
        }
    }
    for (const char *const *text = (const char *const[]){ "", "[]", "{\"disks\":[", "{} {}", NULL }; *text != NULL;
         text++) {
        struct stats stats;

        cr_expect_eq(stats_read(*text, &stats), -EINVAL, "%s", *text);
    }
}
