/* SPDX-License-Identifier: MIT */
/* Random groups on a file in memory against an oracle that looks at every byte. */
#include "ioctl/collective.h"
#include "ioctl/fdat.h"
#include "layout/section.h"
#include "test/ioctl/memstore.h"
#include "test/ioctl/requests.h"
#include "test/support/rng.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define ROOM (1u << 16)

struct world {
    struct memstore memstore;
    struct requests requests;
    uint8_t before[ROOM]; /* the file at the beginning */
    uint64_t size_before;
    struct collective_hints hints;
    char what[256];
};

static void world_init(struct world *world, struct rng *rng)
{
    static const uint64_t windows[] = { 1, 7, 64, 4096, 5000, 16384, 0 };

    memstore_init(&world->memstore, ROOM, (uint32_t) rng_between(rng, 1, 5), rng_between(rng, 1, 6000));
    world->memstore.size = rng_below(rng, ROOM / 2 + 1);
    world->memstore.mapped = rng_chance(rng, 50) ? 0 : rng_between(rng, 1, 9000);
    if (rng_chance(rng, 30))
        world->memstore.store.stripe = 0;
    world->memstore.store.cost.read_call = world->memstore.store.cost.write_call = rng_below(rng, 3) * 40;
    for (uint64_t i = 0; i < world->memstore.size; i++)
        world->memstore.bytes[i] = (uint8_t) rng_u64(rng);
    memcpy(world->before, world->memstore.bytes, ROOM);
    world->size_before = world->memstore.size;
    requests_random(&world->requests, ROOM / 2, rng);
    world->hints = (struct collective_hints){ .domains = (enum domain_kind) rng_below(rng, 5),
                                              .sieve = (enum sieve_mode) rng_below(rng, 3),
                                              .window = windows[rng_below(rng, ARRAY_SIZE(windows))],
                                              .workers = (uint32_t) rng_below(rng, 6) };
    snprintf(world->what, sizeof world->what,
             "%u members, domains %d, sieve %d, window %" PRIu64 ", workers %u, mapped %" PRIu64, world->requests.n,
             (int) world->hints.domains, (int) world->hints.sieve, world->hints.window, world->hints.workers,
             world->memstore.mapped);
}

static void world_done(struct world *world)
{
    requests_done(&world->requests);
    memstore_done(&world->memstore);
}

/* -- executors -- */

static void one_after_the_other(void *ctx, uint32_t n, void (*run)(void *arg, uint32_t i), void *arg)
{
    (void) ctx;
    for (uint32_t i = 0; i < n; i++)
        run(arg, i);
}

struct thread {
    pthread_t id;
    void (*run)(void *arg, uint32_t i);
    void *arg;
    uint32_t i;
};

static void *run_thread(void *arg)
{
    struct thread *thread = arg;

    thread->run(thread->arg, thread->i);
    return NULL;
}

static void all_at_once(void *ctx, uint32_t n, void (*run)(void *arg, uint32_t i), void *arg)
{
    struct thread *thread = calloc(n, sizeof *thread);

    (void) ctx;
    for (uint32_t i = 0; i < n; i++) {
        thread[i] = (struct thread){ .run = run, .arg = arg, .i = i };
        cr_assert_eq(pthread_create(&thread[i].id, NULL, run_thread, &thread[i]), 0);
    }
    for (uint32_t i = 0; i < n; i++)
        pthread_join(thread[i].id, NULL);
    free(thread);
}

static int run(struct world *world, bool writes, struct rng *rng, struct collective_stats *stats)
{
    struct executor executor = { .each = rng_chance(rng, 10) ? all_at_once : one_after_the_other, .n_threads = 3 };
    struct collective_plan *plan;
    int r;

    cr_assert_eq(collective_plan_new(world->requests.asked, world->requests.n, writes, rng_chance(rng, 50) ? ROOM : 0,
                                     &world->hints, &world->memstore.store, 3, &plan),
                 0);
    r = collective_run(plan, world->requests.asked, &world->memstore.store, &executor, stats);
    collective_plan_free(plan);
    return r;
}

static void check_store(const struct world *world, uint64_t seed)
{
    cr_assert(!world->memstore.wrong && world->memstore.n_locked == 0 && world->memstore.n_maps == 0,
              RNG_SEED ": the store was misused (%s)", seed, world->what);
}

#define SHARDS 4

ParameterizedTestParameters(collective, reads)
{
    static uint64_t shard[SHARDS] = { 0, 1, 2, 3 };

    return cr_make_param_array(uint64_t, shard, SHARDS);
}

ParameterizedTest(uint64_t *shard, collective, reads)
{
    for (struct rng rng = rng_shard_from_env(6000, *shard, SHARDS); rng_next(&rng);) {
        static struct world world;
        struct collective_stats stats;

        world_init(&world, &rng);
        cr_assert_eq(run(&world, false, &rng, &stats), 0);
        for (uint32_t i = 0; i < world.requests.n; i++)
            for (uint64_t k = 0; k < asked_size(&world.requests.asked[i]); k++) {
                uint64_t at = asked_select(&world.requests.asked[i], k);
                uint8_t want = at < world.size_before ? world.before[at] : 0;

                cr_assert_eq(world.requests.asked[i].buf[k], want,
                             RNG_SEED ": member %u, byte %" PRIu64 " (of the file %" PRIu64 ") is %u, not %u (%s)",
                             rng.seed, i, k, at, world.requests.asked[i].buf[k], want, world.what);
            }
        cr_assert_eq(world.memstore.size, world.size_before);
        cr_assert_eq(memcmp(world.memstore.bytes, world.before, ROOM), 0);
        check_store(&world, rng.seed);
        world_done(&world);
    }
}

ParameterizedTestParameters(collective, writes)
{
    static uint64_t shard[SHARDS] = { 0, 1, 2, 3 };

    return cr_make_param_array(uint64_t, shard, SHARDS);
}

ParameterizedTest(uint64_t *shard, collective, writes)
{
    for (struct rng rng = rng_shard_from_env(6000, *shard, SHARDS); rng_next(&rng);) {
        static struct world world;
        struct collective_stats stats;
        uint64_t size;

        world_init(&world, &rng);
        size = world.size_before;
        for (uint32_t i = 0; i < world.requests.n; i++)
            for (uint64_t k = 0; k < asked_size(&world.requests.asked[i]); k++) {
                uint64_t at = asked_select(&world.requests.asked[i], k);

                world.before[at] = world.requests.asked[i].buf[k];
                size = MAX(size, at + 1);
            }
        cr_assert_eq(run(&world, true, &rng, &stats), 0);
        cr_assert_eq(world.memstore.size, size, RNG_SEED ": size %" PRIu64 ", not %" PRIu64 " (%s)", rng.seed,
                     world.memstore.size, size, world.what);
        for (uint64_t at = 0; at < ROOM; at++)
            cr_assert_eq(world.memstore.bytes[at], world.before[at], RNG_SEED ": byte %" PRIu64 " is %u, not %u (%s)",
                         rng.seed, at, world.memstore.bytes[at], world.before[at], world.what);
        check_store(&world, rng.seed);
        world_done(&world);
    }
}

/* The first error comes back, and no lock and no mapping stays. */
Test(collective, errors)
{
    for (struct rng rng = rng_from_env(2000); rng_next(&rng);) {
        static struct world world;
        struct collective_stats stats;
        bool writes = rng_chance(&rng, 50);
        int r;

        world_init(&world, &rng);
        world.memstore.fail_at = 1 + rng_below(&rng, 20);
        r = run(&world, writes, &rng, &stats);
        cr_assert(r == (world.memstore.n_calls >= world.memstore.fail_at ? -EIO : 0), RNG_SEED ": %d (%s)", rng.seed, r,
                  world.what);
        check_store(&world, rng.seed);
        world_done(&world);
    }
}

struct ending {
    struct memstore memstore;
    uint64_t n_left; /* calls until it may end */
    atomic_bool may_end;
    int (*read)(void *ctx, void *buf, size_t len, uint64_t file_off, struct selection *only);
};

static int read_and_end(void *ctx, void *buf, size_t len, uint64_t file_off, struct selection *only)
{
    struct ending *ending = ctx;

    if (--ending->n_left == 0)
        atomic_store(&ending->may_end, true);
    return ending->read(ctx, buf, len, file_off, only);
}

/* A collective that may end begins no more windows; the one that is begun is done. */
Test(collective, may_end)
{
    struct array array = { 1, ARRAY_ROW_MAJOR, 1, 0, { ROOM } };
    struct range all[] = { { 0, ROOM - 1, 1 } };
    struct collective_hints hints = { .window = 4096, .workers = 1 };
    struct ending ending = { .n_left = 3 };
    struct executor executor = { .each = one_after_the_other, .n_threads = 1, .may_end = &ending.may_end };
    struct collective_stats stats;
    struct collective_plan *plan;
    struct store_ops ops;
    struct asked asked;
    struct nest *nest;

    memstore_init(&ending.memstore, ROOM, 1, ROOM);
    ops = *ending.memstore.store.ops;
    ending.read = ops.read;
    ops.read = read_and_end;
    ending.memstore.store.ops = &ops;
    memset(ending.memstore.bytes, 'x', ending.memstore.size = ROOM);
    cr_assert_eq(section_new(&array, all, &nest), 0);
    asked = (struct asked){ .nest = nest, .buf = calloc(1, ROOM) };
    cr_assert_eq(collective_plan_new(&asked, 1, false, 0, &hints, &ending.memstore.store, 1, &plan), 0);
    cr_expect_eq(collective_run(plan, &asked, &ending.memstore.store, &executor, &stats), -EINTR);
    cr_expect_eq(stats.sieve.disk_read, 3 * 4096);
    cr_expect(asked.buf[3 * 4096 - 1] == 'x' && asked.buf[3 * 4096] == 0);
    collective_plan_free(plan);
    free(asked.buf);
    nest_free(nest);
    memstore_done(&ending.memstore);
}

/* What one of several disks has, every stripe of it: the holes are the others', and nothing of them is moved. */
Test(collective, what_one_disk_has)
{
    for (struct rng rng = rng_from_env(2000); rng_next(&rng);) {
        uint32_t n_disks = (uint32_t) rng_between(&rng, 2, 5), disk = (uint32_t) rng_below(&rng, n_disks);
        uint64_t stripe = rng_between(&rng, 1, 3000), n = ROOM / 2 / stripe;
        struct array array = { 1, ARRAY_ROW_MAJOR, stripe, 0, { n } };
        struct range range[] = { { disk, n - 1, n_disks } };
        bool writes = rng_chance(&rng, 50);
        struct collective_stats stats;
        static struct world world;
        struct asked *asked;
        uint64_t size;

        world_init(&world, &rng);
        requests_done(&world.requests);
        world.memstore.store.n_disks = n_disks;
        world.memstore.stripe = stripe;
        world.memstore.mapped = 0;
        world.hints.sieve = SIEVE_AUTO;
        requests_one(&world.requests, &array, range, &rng);
        asked = world.requests.asked;
        size = world.memstore.size;
        for (uint64_t k = 0; writes && k < asked_size(asked); k++) {
            world.before[asked_select(asked, k)] = asked->buf[k];
            size = MAX(size, asked_select(asked, k) + 1);
        }
        cr_assert_eq(run(&world, writes, &rng, &stats), 0);
        cr_assert_eq(world.memstore.size, size);
        cr_assert_eq(memcmp(world.memstore.bytes, world.before, ROOM), 0, RNG_SEED ": wrong bytes (%s)", rng.seed,
                     world.what);
        for (uint64_t k = 0; !writes && k < asked_size(asked); k++)
            cr_assert_eq(asked->buf[k], world.before[asked_select(asked, k)], RNG_SEED ": byte %" PRIu64 " (%s)",
                         rng.seed, k, world.what);
        if (!writes)
            cr_assert_eq(stats.sieve.disk_read, asked_size(asked), RNG_SEED ": %" PRIu64 " read (%s)", rng.seed,
                         stats.sieve.disk_read, world.what);
        check_store(&world, rng.seed);
        world_done(&world);
    }
}

/* Each byte of the bounding section is in one domain. */
Test(collective, domains_are_a_partition)
{
    for (struct rng rng = rng_from_env(3000); rng_next(&rng);) {
        static struct world world;
        static uint8_t count[ROOM];
        struct domain domain[16];
        struct division division;
        struct fad fad;
        uint32_t n;

        world_init(&world, &rng);
        fad = fad_of(world.requests.asked, world.requests.n);
        division = (struct division){ .kind = world.hints.domains,
                                      .n = (uint32_t) rng_between(&rng, 1, 8),
                                      .array_end = rng_chance(&rng, 50) ? ROOM : 0,
                                      .chunk = rng_between(&rng, 1, 5000) };
        n = domains_cut(&fad, &division, &world.memstore.store, domain);
        cr_assert(n <= domains_max(&division, &world.memstore.store));
        memset(count, 0, sizeof count);
        for (uint32_t i = 0; i < n; i++) {
            uint64_t x = 0, lo, hi;

            for (; domain_next(&domain[i], &world.memstore.store, x, &lo, &hi); x = hi)
                for (uint64_t at = lo; at < hi; at++)
                    count[at]++;
        }
        for (uint64_t at = fad.lo; at < fad.hi; at++)
            cr_assert_eq(count[at], 1, RNG_SEED ": byte %" PRIu64 " is in %u domains (%s)", rng.seed, at, count[at],
                         world.what);
        world_done(&world);
    }
}

/* With small stripes a domain for each disk would cost work for each byte. */
Test(collective, disks_that_alternate)
{
    struct array array = { 1, ARRAY_ROW_MAJOR, 1, 0, { ROOM } };
    struct range all[] = { { 0, ROOM - 1, 1 } };
    struct collective_hints hints = { .domains = DOMAINS_DISK };
    struct executor executor = { .each = one_after_the_other, .n_threads = 1 };

    for (uint64_t stripe = 1; stripe < ROOM; stripe *= 64) {
        struct collective_stats stats;
        struct collective_plan *plan;
        struct memstore memstore;
        struct asked asked;
        struct nest *nest;

        memstore_init(&memstore, ROOM, 4, stripe);
        memset(memstore.bytes, 'x', memstore.size = ROOM);
        cr_assert_eq(section_new(&array, all, &nest), 0);
        asked = (struct asked){ .nest = nest, .buf = calloc(1, ROOM) };
        cr_assert_eq(collective_plan_new(&asked, 1, false, 0, &hints, &memstore.store, 1, &plan), 0);
        cr_assert_eq(collective_run(plan, &asked, &memstore.store, &executor, &stats), 0);
        cr_expect_leq(stats.sieve.windows, ROOM / 4096, "%" PRIu64 " of %" PRIu64 " bytes", stats.sieve.windows,
                      stripe);
        cr_expect_eq(memcmp(asked.buf, memstore.bytes, ROOM), 0);
        collective_plan_free(plan);
        free(asked.buf);
        nest_free(nest);
        memstore_done(&memstore);
    }
}

/* Disks that seek do so together: what later windows need is sent for before the first one is waited for. What is in
 * memory is not. */
ParameterizedTestParameters(collective, disks_seek_together)
{
    static bool writes[] = { false, true };

    return cr_make_param_array(bool, writes, ARRAY_SIZE(writes));
}

ParameterizedTest(bool *writes, collective, disks_seek_together)
{
    struct array array = { 2, ARRAY_ROW_MAJOR, 1, 0, { ROOM / 256, 256 } };
    struct range half[] = { { 0, ROOM / 256 - 1, 1 }, { 0, 127, 1 } };
    struct collective_hints hints = { .window = 4096 };
    struct executor executor = { .each = one_after_the_other, .n_threads = 1 };
    static const uint64_t mapped[] = { 0, ROOM };

    for (size_t i = 0; i < ARRAY_SIZE(mapped); i++) {
        struct collective_stats stats;
        struct collective_plan *plan;
        struct memstore memstore;
        struct asked asked;
        struct nest *nest;

        memstore_init(&memstore, ROOM, 4, 4096);
        memstore.size = ROOM;
        memstore.mapped = mapped[i];
        cr_assert_eq(section_new(&array, half, &nest), 0);
        asked = (struct asked){ .nest = nest, .buf = calloc(1, ROOM / 2) };
        cr_assert_eq(collective_plan_new(&asked, 1, *writes, 0, &hints, &memstore.store, 1, &plan), 0);
        cr_assert_eq(collective_run(plan, &asked, &memstore.store, &executor, &stats), 0);
        cr_expect_eq(stats.sieve.windows, 16);
        cr_expect(mapped[i] > 0 ? memstore.sent_for == 0 : memstore.sent_for >= 14 * UINT64_C(3968),
                  "%" PRIu64 " bytes are sent for", memstore.sent_for);
        collective_plan_free(plan);
        free(asked.buf);
        nest_free(nest);
        memstore_done(&memstore);
    }
}

/* What is asked for of a 1 TiB array costs no more memory than a window, and no list of its pieces. */
Test(collective, a_huge_array)
{
    struct array array = { 2, ARRAY_ROW_MAJOR, 4, 0, { UINT64_C(1) << 19, UINT64_C(1) << 19 } };
    struct range column[] = { { 0, (UINT64_C(1) << 19) - 1, 1 }, { 5, 5, 1 } };
    struct collective_hints hints = { 0 };
    struct collective_plan *plan;
    struct memstore memstore;
    struct nest *nest;
    struct asked asked;

    memstore_init(&memstore, 1, 4, 1 << 20);
    cr_assert_eq(section_new(&array, column, &nest), 0);
    asked = (struct asked){ .nest = nest };
    cr_assert_eq(collective_plan_new(&asked, 1, false, 0, &hints, &memstore.store, 2, &plan), 0);
    collective_plan_free(plan);
    nest_free(nest);
    memstore_done(&memstore);
}

/* How many bytes of this process are in memory. */
static uint64_t resident(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;

    cr_assert_not_null(file);
    cr_assert_eq(fscanf(file, "%*u %lu", &pages), 1);
    fclose(file);
    return (uint64_t) pages * 4096;
}

/* Any number of groups may keep their plans: those have no windows of their own. */
Test(collective, kept_plans_cost_little)
{
    const uint64_t mib = UINT64_C(1) << 20;
    struct array array = { 1, ARRAY_ROW_MAJOR, 1, 0, { 64 * mib } };
    struct range some[] = { { 0, 64 * mib - 1, 65536 } };
    struct collective_hints hints = { .sieve = SIEVE_ON, .window = mib, .workers = 64 };
    struct executor executor = { .each = one_after_the_other, .n_threads = 1 };
    struct collective_plan *plan[2];
    struct collective_stats stats;
    struct memstore memstore;
    struct nest *nest;
    uint8_t bytes[1024];
    struct asked asked;
    uint64_t before = 0, after;

    memstore_init(&memstore, 64 * mib, 4, mib);
    memset(memstore.bytes, 'x', memstore.size = memstore.room);
    cr_assert_eq(section_new(&array, some, &nest), 0);
    asked = (struct asked){ .nest = nest, .buf = bytes };
    for (size_t i = 0; i < 2; i++) {
        cr_assert_eq(collective_plan_new(&asked, 1, false, 0, &hints, &memstore.store, 1, &plan[i]), 0);
        cr_assert_eq(collective_run(plan[i], &asked, &memstore.store, &executor, &stats), 0);
        cr_assert(stats.workers == 64 && stats.sieve.disk_read > 32 * mib, "windows were used");
        if (i == 0)
            before = resident();
    }
    after = resident();
    cr_expect_lt(after - MIN(before, after), 16 * mib);
    for (size_t i = 0; i < 2; i++)
        collective_plan_free(plan[i]);
    nest_free(nest);
    memstore_done(&memstore);
}
