/* SPDX-License-Identifier: MIT */
/* Collectives on files of real directories, where subfiles are mapped, beside others who use the files. */
#include "fs/core/change/migrate.h"
#include "fs/core/file/file_store.h"
#include "ioctl/collective.h"
#include "ioctl/guard.h"
#include "layout/section.h"
#include "test/core/local.h"
#include "test/ioctl/requests.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define N_DISKS 4
#define ROOM    (UINT64_C(1) << 16)

static const char *const layouts[] = {
    "one",
    "stripe(4K)",
    "stripe(16K)",
    "stripe(1)",
    "stripe(100,5) disp 3000",
    "array(shape=64x64, elem=8, dist=(*,block), grid=1x4)",
    "array(shape=64x128, elem=4, dist=(block,cyclic(8)), grid=2x2)",
    "var(1000,9000,5000)",
    "{(0,3,8,2,{(0,0,2,2)});(1,3,8,2,{(0,0,2,2)});(4,7,8,2)}",
};

struct world {
    struct local local;
    struct file_store file_store;
    struct store store;
    struct executor executor;
};

struct each_job {
    struct chore chore;
    void (*run)(void *arg, uint32_t i);
    void *arg;
    uint32_t i;
};

static void run_each(struct chore *chore)
{
    struct each_job *each = (struct each_job *) chore;

    each->run(each->arg, each->i);
}

static void each(void *ctx, uint32_t n, void (*run)(void *arg, uint32_t i), void *arg)
{
    struct each_job each_job[COLLECTIVE_MAX_WORKERS];
    struct chore *chore[COLLECTIVE_MAX_WORKERS] = { NULL };

    for (uint32_t i = 0; i < n; i++) {
        each_job[i] = (struct each_job){ .chore = { .run = run_each }, .run = run, .arg = arg, .i = i };
        chore[i] = &each_job[i].chore;
    }
    workers_run(ctx, chore, n);
}

static void world_init(struct world *world, const char *layout)
{
    local_init(&world->local, N_DISKS, layout);
    cr_assert_eq(guard_init(), 0);
    world->file_store = (struct file_store){ .fs = world->local.fs, .file = world->local.file };
    world->store = file_store_of(&world->file_store);
    world->executor = (struct executor){ .each = each, .ctx = world->local.fs->workers, .n_threads = 2 };
}

static void world_done(struct world *world)
{
    file_store_done(&world->file_store);
    local_done(&world->local);
}

static int run_counted(struct world *world, struct requests *requests, bool writes,
                       const struct collective_hints *hints, struct collective_stats *ret_stats)
{
    struct collective_plan *plan;
    int r = collective_plan_new(requests->asked, requests->n, writes, 0, hints, &world->store, 2, &plan);

    if (r == 0) {
        r = collective_run(plan, requests->asked, &world->store, &world->executor, ret_stats);
        collective_plan_free(plan);
    }
    return r;
}

static int run(struct world *world, struct requests *requests, bool writes, const struct collective_hints *hints)
{
    struct collective_stats stats;

    return run_counted(world, requests, writes, hints, &stats);
}

static struct collective_hints random_hints(struct rng *rng)
{
    return (struct collective_hints){ .domains = (enum domain_kind) rng_below(rng, 5),
                                      .sieve = (enum sieve_mode) rng_below(rng, 3),
                                      .window = rng_chance(rng, 50) ? 0 : rng_between(rng, 1, 20000),
                                      .workers = (uint32_t) rng_below(rng, 4) };
}

static void expect_file(struct world *world, const uint8_t want[], uint64_t size, const struct rng *rng)
{
    static uint8_t found[ROOM + 1];

    cr_assert_eq(file_read(world->local.fs, world->local.file, found, sizeof found, 0), (ssize_t) size,
                 RNG_SEED ": the size is not %" PRIu64, rng->seed, size);
    for (uint64_t at = 0; at < size; at++)
        cr_assert_eq(found[at], want[at], RNG_SEED ": byte %" PRIu64 " is %u, not %u", rng->seed, at, found[at],
                     want[at]);
}

/* Runs some groups, truncations and syncs, one after the other, and compares the file with a model. */
static void random_steps(struct world *world, struct rng *rng)
{
    static uint8_t model[ROOM];
    uint64_t size = 0;

    memset(model, 0, sizeof model);
    for (uint64_t step = rng_between(rng, 1, 4); step > 0; step--) {
        struct collective_hints hints = random_hints(rng);
        bool writes = rng_chance(rng, 50);
        struct requests requests;

        requests_random(&requests, ROOM / 2, rng);
        for (uint32_t i = 0; writes && i < requests.n; i++)
            for (uint64_t k = 0; k < asked_size(&requests.asked[i]); k++) {
                uint64_t at = asked_select(&requests.asked[i], k);

                model[at] = requests.asked[i].buf[k];
                size = MAX(size, at + 1);
            }
        cr_assert_eq(run(world, &requests, writes, &hints), 0, RNG_SEED, rng->seed);
        for (uint32_t i = 0; !writes && i < requests.n; i++)
            for (uint64_t k = 0; k < asked_size(&requests.asked[i]); k++)
                cr_assert_eq(requests.asked[i].buf[k], model[asked_select(&requests.asked[i], k)],
                             RNG_SEED ": member %u, byte %" PRIu64, rng->seed, i, k);
        requests_done(&requests);
        if (rng_chance(rng, 20)) {
            uint64_t cut = rng_below(rng, ROOM / 2);

            cr_assert_eq(file_truncate(world->local.fs, world->local.file, cut), 0);
            if (cut < size)
                memset(model + cut, 0, size - cut);
            size = cut;
        }
        if (rng_chance(rng, 3))
            cr_assert_eq(file_sync(world->local.fs, world->local.file, false), 0);
        expect_file(world, model, size, rng);
    }
}

ParameterizedTestParameters(store, groups_on_real_files)
{
    static size_t number[ARRAY_SIZE(layouts)];

    for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
        number[i] = i;
    return cr_make_param_array(size_t, number, ARRAY_SIZE(layouts));
}

ParameterizedTest(size_t *number, store, groups_on_real_files)
{
    struct world world;

    world_init(&world, layouts[*number]);
    for (struct rng rng = rng_shard_from_env(5000, *number, ARRAY_SIZE(layouts)); rng_next(&rng);) {
        cr_assert_eq(file_truncate(world.local.fs, world.local.file, 0), 0);
        random_steps(&world, &rng);
    }
    world_done(&world);
}

/* -- several groups at once, and others beside them -- */

#define ROUNDS 3

enum actor_kind { GROUP, WRITER, READER, NOBODY };

/* One of those who use the file at the same time. It has some of the sets of a case for itself. */
struct actor {
    struct world *world;
    enum actor_kind kind;
    struct rng rng;
    struct requests requests;
    struct collective_hints hints;
    uint64_t size_before;
    bool failed;
};

/* The value that an actor's byte has in a round; in round 0 the one from before, and 0 behind the end of then. */
static uint8_t value(const struct actor *actor, uint64_t at, unsigned round)
{
    struct rng rng = rng_from_seed(actor->rng.seed * 1000003 + at * (ROUNDS + 1) + round);

    return round > 0 || at < actor->size_before ? (uint8_t) rng_u64(&rng) : 0;
}

static void write_as_group(struct actor *actor, unsigned round)
{
    for (uint32_t i = 0; i < actor->requests.n; i++)
        for (uint64_t k = 0; k < asked_size(&actor->requests.asked[i]); k++)
            actor->requests.asked[i].buf[k] = value(actor, asked_select(&actor->requests.asked[i], k), round);
    actor->failed |= run(actor->world, &actor->requests, true, &actor->hints) != 0;
}

static void write_run_by_run(struct actor *actor, const struct asked *asked, unsigned round)
{
    static _Thread_local uint8_t bytes[ROOM];

    for (uint64_t k = 0, len; k < asked_size(asked); k += len) {
        uint64_t at = asked_select_run(asked, k, &len);

        for (uint64_t i = 0; i < len; i++)
            bytes[i] = value(actor, at + i, round);
        actor->failed |= file_write(actor->world->local.fs, actor->world->local.file, bytes, len, at) != (ssize_t) len;
    }
}

/* Reads everything: each byte must have its value of some round, or of before. */
static void read_all(struct actor *actor)
{
    actor->failed |= run(actor->world, &actor->requests, false, &actor->hints) != 0;
    for (uint32_t i = 0; i < actor->requests.n; i++)
        for (uint64_t k = 0; k < asked_size(&actor->requests.asked[i]); k++) {
            uint64_t at = asked_select(&actor->requests.asked[i], k);
            unsigned round = 0;

            while (round <= ROUNDS && actor->requests.asked[i].buf[k] != value(actor, at, round))
                round++;
            actor->failed |= round > ROUNDS;
        }
}

static void *act(void *arg)
{
    struct actor *actor = arg;

    for (unsigned round = 1; round <= ROUNDS; round++) {
        if (actor->kind == GROUP)
            write_as_group(actor, round);
        for (uint32_t i = 0; actor->kind == WRITER && i < actor->requests.n; i++)
            write_run_by_run(actor, &actor->requests.asked[i], round);
        if (actor->kind == READER)
            read_all(actor);
    }
    return NULL;
}

static void fill_before(struct world *world, const struct actor *actor)
{
    static uint8_t bytes[ROOM];

    for (uint64_t at = 0; at < actor->size_before; at++)
        bytes[at] = value(actor, at, 0);
    cr_assert_eq(file_truncate(world->local.fs, world->local.file, 0), 0);
    cr_assert_eq(file_write(world->local.fs, world->local.file, bytes, actor->size_before, 0),
                 (ssize_t) actor->size_before);
}

/* Deals sets out to actors at random. Those that fall to READER, who reads all sets anyway, or to NOBODY are not
 * written. */
static void deal(struct actor actor[], uint32_t n_actors, const struct requests *all, struct rng *rng)
{
    for (uint32_t i = 0; i < all->n; i++) {
        struct actor *whose = &actor[rng_below(rng, n_actors)];
        struct requests *theirs = &whose->requests;

        if (whose->kind != READER) {
            theirs->asked[theirs->n] = all->asked[i];
            theirs->nest[theirs->n++] = all->nest[i];
        }
    }
}

static void expect_rounds(struct world *world, const struct actor actor[], uint32_t n_actors, struct rng *rng)
{
    static uint8_t want[ROOM];
    uint64_t size = actor[0].size_before;

    for (uint64_t at = 0; at < ROOM; at++)
        want[at] = value(&actor[0], at, 0);
    for (uint32_t a = 0; a < n_actors; a++) {
        cr_assert_not(actor[a].failed, RNG_SEED ": actor %u, kind %d", rng->seed, a, (int) actor[a].kind);
        for (uint32_t i = 0; actor[a].kind <= WRITER && i < actor[a].requests.n; i++)
            for (uint64_t k = 0; k < asked_size(&actor[a].requests.asked[i]); k++) {
                uint64_t at = asked_select(&actor[a].requests.asked[i], k);

                want[at] = value(&actor[a], at, ROUNDS);
                size = MAX(size, at + 1);
            }
    }
    expect_file(world, want, size, rng);
}

static void act_beside(struct world *world, struct rng *rng)
{
    static const enum actor_kind kinds[] = { GROUP, GROUP, WRITER, READER, NOBODY };
    static struct actor actor[ARRAY_SIZE(kinds)];
    pthread_t thread[ARRAY_SIZE(kinds)];
    struct requests all, again;
    struct rng same;
    uint64_t size = rng_below(rng, ROOM / 2);

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        actor[i] = (struct actor){
            .world = world, .kind = kinds[i], .rng = *rng, .hints = random_hints(rng), .size_before = size
        };
    fill_before(world, &actor[0]);
    same = *rng;
    requests_apart(&all, ROOM / 2, rng);
    requests_apart(&again, ROOM / 2, &same); /* the same sets once more, with memory for the reader */
    deal(actor, ARRAY_SIZE(kinds), &all, rng);
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        if (kinds[i] == READER)
            actor[i].requests = again;
        cr_assert_eq(pthread_create(&thread[i], NULL, act, &actor[i]), 0);
    }
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        pthread_join(thread[i], NULL);
    expect_rounds(world, actor, ARRAY_SIZE(kinds), rng);
    requests_done(&again);
    requests_done(&all);
}

ParameterizedTestParameters(store, groups_beside_each_other)
{
    static size_t number[ARRAY_SIZE(layouts)];

    for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
        number[i] = i;
    return cr_make_param_array(size_t, number, ARRAY_SIZE(layouts));
}

ParameterizedTest(size_t *number, store, groups_beside_each_other)
{
    struct world world;

    world_init(&world, layouts[*number]);
    for (struct rng rng = rng_shard_from_env(1000, *number, ARRAY_SIZE(layouts)); rng_next(&rng);)
        act_beside(&world, &rng);
    world_done(&world);
}

/* -- neighbours -- */

struct writer {
    struct world *world;
    uint64_t lane; /* it writes each byte whose number is this modulo 3 */
    uint8_t value;
    uint64_t n_lost; /* bytes found that were not the last ones written */
    atomic_bool *stop;
};

static void *write_lane(void *arg)
{
    struct writer *writer = arg;
    uint8_t found[ROOM / 16];

    while (!atomic_load(writer->stop)) {
        writer->value++;
        for (uint64_t at = writer->lane; at < ROOM / 16; at += 3)
            (void) file_write(writer->world->local.fs, writer->world->local.file, &writer->value, 1, at);
        (void) file_read(writer->world->local.fs, writer->world->local.file, found, sizeof found, 0);
        for (uint64_t at = writer->lane; at < ROOM / 16; at += 3)
            writer->n_lost += found[at] != writer->value;
    }
    return NULL;
}

/* Has a group write every third byte, for which it may read and write back what lies between, while others write
 * that. */
static void write_beside(const char *layout, enum sieve_mode sieve)
{
    struct array array = { 2, ARRAY_ROW_MAJOR, 1, 0, { ROOM / 16 / 3, 3 } };
    struct range column[] = { { 0, ROOM / 16 / 3 - 1, 1 }, { 0, 0, 1 } };
    struct collective_hints hints = { .sieve = sieve, .window = 1000, .workers = 2 };
    static uint8_t found[ROOM / 16];
    struct requests requests = { .n = 1 };
    atomic_bool stop = false;
    struct writer writer[2];
    pthread_t thread[2];
    struct world world;

    world_init(&world, layout);
    cr_assert_eq(file_truncate(world.local.fs, world.local.file, sizeof found), 0);
    cr_assert_eq(section_new(&array, column, &requests.nest[0]), 0);
    requests.asked[0] = (struct asked){ .nest = requests.nest[0], .buf = calloc(1, requests.nest[0]->size) };
    for (unsigned i = 0; i < 2; i++) {
        writer[i] = (struct writer){ .world = &world, .lane = i + 1, .stop = &stop };
        cr_assert_eq(pthread_create(&thread[i], NULL, write_lane, &writer[i]), 0);
    }
    for (unsigned round = 1; round <= 100; round++) {
        memset(requests.asked[0].buf, (int) round, requests.nest[0]->size);
        cr_assert_eq(run(&world, &requests, true, &hints), 0);
    }
    atomic_store(&stop, true);
    for (unsigned i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    cr_assert(writer[0].n_lost == 0 && writer[1].n_lost == 0, "%s: %" PRIu64 " and %" PRIu64 " bytes were lost", layout,
              writer[0].n_lost, writer[1].n_lost);
    cr_assert_eq(file_read(world.local.fs, world.local.file, found, sizeof found, 0), (ssize_t) sizeof found);
    for (uint64_t at = 0; at < ROOM / 16 / 3 * 3; at++)
        cr_assert_eq(found[at], at % 3 == 0 ? 100 : writer[at % 3 - 1].value, "%s: byte %" PRIu64 " is %u", layout, at,
                     found[at]);
    requests_done(&requests);
    world_done(&world);
}

Test(store, nobody_loses_a_byte_to_a_neighbour, .timeout = 120)
{
    write_beside("stripe(1)", SIEVE_ON); /* nothing is mapped: the sieve reads and writes back */
    write_beside("stripe(64)", SIEVE_AUTO);
    write_beside("stripe(4K)", SIEVE_AUTO); /* mapped */
}

/* When somebody cuts a subfile on its disk, a group gets an error, and the daemon stays. */
Test(store, a_subfile_that_is_cut_below)
{
    struct array array = { 1, ARRAY_ROW_MAJOR, 1, 0, { ROOM } };
    struct range all[] = { { 0, ROOM - 1, 1 } };
    struct collective_hints hints = { 0 };
    struct requests requests = { .n = 1 };
    static uint8_t bytes[ROOM];
    char path[OBJECT_PATH], full[200];
    struct world world;
    int r;

    world_init(&world, "one");
    memset(bytes, 7, sizeof bytes);
    cr_assert_eq(file_write(world.local.fs, world.local.file, bytes, sizeof bytes, 0), (ssize_t) sizeof bytes);
    cr_assert_eq(file_sync(world.local.fs, world.local.file, false), 0);
    cr_assert_eq(section_new(&array, all, &requests.nest[0]), 0);
    requests.asked[0] = (struct asked){ .nest = requests.nest[0], .buf = calloc(1, ROOM) };
    cr_assert_eq(run(&world, &requests, false, &hints), 0);
    cr_assert_eq(memcmp(requests.asked[0].buf, bytes, ROOM), 0);

    object_path(world.local.fs->volume, world.local.file->record.id, world.local.file->record.gen, 0,
                world.local.file->now->layout, path);
    for (int i = 0; i < N_DISKS; i++) {
        snprintf(full, sizeof full, "%s/d%d/.fallsfs/%s", world.local.top, i, path);
        (void) !truncate(full, 4096);
    }
    r = run(&world, &requests, false, &hints);
    cr_assert(r == -EIO || (r == 0 && world.local.is_churned), "%d", r); /* a replica may have them */
    requests_done(&requests);
    world_done(&world);
}

/* -- who waits -- */

struct cutter {
    struct world *world;
    atomic_bool done;
    int result;
};

static void *cut(void *arg)
{
    struct cutter *cutter = arg;

    cutter->result = file_truncate(cutter->world->local.fs, cutter->world->local.file, 10);
    atomic_store(&cutter->done, true);
    return NULL;
}

/* A truncation waits for a group, even longer than a disk may take before it counts as stalled. */
Test(store, a_cut_waits_for_a_group)
{
    struct cutter cutter;
    struct world world;
    pthread_t thread;

    world_init(&world, "one");
    cr_assert_eq(file_truncate(world.local.fs, world.local.file, 1000), 0);
    cutter = (struct cutter){ .world = &world };
    cr_assert_eq(world.store.ops->lock(world.store.ctx, 100, 100), 0);
    cr_assert_eq(pthread_create(&thread, NULL, cut, &cutter), 0);
    usleep((WATCH_STALL + 500) * 1000);
    cr_expect_not(atomic_load(&cutter.done), "it did not wait");
    cr_expect_eq(file_size(world.local.file), 1000);
    world.store.ops->unlock(world.store.ctx, 100, 100);
    pthread_join(thread, NULL);
    cr_expect_eq(cutter.result, 0, "%s", strerror(-cutter.result));
    cr_expect_eq(file_size(world.local.file), 10);
    world_done(&world);
}

/* -- another layout meanwhile -- */

/* Begins to move the file to another layout: from the first step on, writes go to both. */
static void begin_to_migrate(struct world *world, const char *text, struct migration *migration)
{
    struct layout_error error = { 0 };
    struct file_layout *layout;
    bool rotates;

    cr_assert_eq(layouts_add(world->local.fs->layouts, text, &layout, &rotates, &error), 0, "%s", error.why);
    migration_init(migration, world->local.fs, world->local.file);
    cr_assert_eq(migration_begin(migration, layout, rotates ? (uint16_t) (layout->n_list - 1) : 0), 0);
    layouts_put(world->local.fs->layouts, layout);
}

static void finish_migration(struct migration *migration)
{
    int r;

    while ((r = migration_step(migration)) > 0)
        ;
    cr_assert_eq(r, 0, "%s", strerror(-r));
    migration_done(migration);
}

static void migrate(struct world *world, const char *text)
{
    struct migration migration;

    begin_to_migrate(world, text, &migration);
    finish_migration(&migration);
}

/* Who takes what one disk has moves these bytes and no others, though their holes are short. */
static void move_what_a_disk_has(struct world *world, uint64_t unit, const char *moves_to, struct rng *rng)
{
    struct array array = { 1, ARRAY_ROW_MAJOR, unit, 0, { ROOM / unit } };
    struct range range[] = { { rng_below(rng, N_DISKS), ROOM / unit - 1, N_DISKS } };
    const struct collective_hints hints = { .workers = (uint32_t) rng_between(rng, 1, 3) };
    static uint8_t model[ROOM];
    struct collective_stats stats;
    struct migration migration;
    struct requests requests;
    uint64_t size = rng_below(rng, ROOM);

    for (uint64_t at = 0; at < ROOM; at++)
        model[at] = at < size ? (uint8_t) rng_u64(rng) : 0;
    cr_assert_eq(file_truncate(world->local.fs, world->local.file, 0), 0);
    cr_assert_eq(file_write(world->local.fs, world->local.file, model, size, 0), (ssize_t) size);
    requests_one(&requests, &array, range, rng);
    for (uint64_t k = 0; k < asked_size(requests.asked); k++) {
        model[asked_select(requests.asked, k)] = requests.asked->buf[k];
        size = MAX(size, asked_select(requests.asked, k) + 1);
    }
    if (moves_to != NULL)
        begin_to_migrate(world, moves_to, &migration);
    for (uint64_t n = rng_below(rng, 4); moves_to != NULL && n > 0; n--)
        cr_assert(migration_step(&migration) >= 0);
    cr_assert_eq(run_counted(world, &requests, true, &hints, &stats), 0);
    cr_assert(moves_to != NULL || world->local.is_churned ||
                  (stats.sieve.disk_written == asked_size(requests.asked) && stats.sieve.reread == 0),
              RNG_SEED ": %" PRIu64 " written, %" PRIu64 " read again", rng->seed, stats.sieve.disk_written,
              stats.sieve.reread);
    expect_file(world, model, size, rng);
    if (moves_to != NULL)
        finish_migration(&migration);
    expect_file(world, model, size, rng);
    memset(requests.asked->buf, 0, asked_size(requests.asked));
    cr_assert_eq(run_counted(world, &requests, false, &hints, &stats), 0);
    cr_assert(moves_to != NULL || stats.sieve.disk_read == asked_size(requests.asked), RNG_SEED ": %" PRIu64 " read",
              rng->seed, stats.sieve.disk_read);
    for (uint64_t k = 0; k < asked_size(requests.asked); k++)
        cr_assert_eq(requests.asked->buf[k], model[asked_select(requests.asked, k)], RNG_SEED, rng->seed);
    requests_done(&requests);
}

Test(store, what_a_disk_has)
{
    struct world world;

    world_init(&world, "stripe(1K)");
    for (struct rng rng = rng_from_env(50); rng_next(&rng);)
        move_what_a_disk_has(&world, 1024, NULL, &rng);
    world_done(&world);
}

/* The target of a migration has other disks: it gets all bytes. */
Test(store, what_a_disk_has_of_a_file_that_moves)
{
    for (struct rng rng = rng_from_env(50); rng_next(&rng);) {
        struct world world;

        world_init(&world, "stripe(1K)");
        move_what_a_disk_has(&world, 1024, rng_chance(&rng, 50) ? "stripe(512)" : "one", &rng);
        world_done(&world);
    }
}

/* Which disk an offset belongs to stays the same for a group, also when the file migrates meanwhile: else each of two
 * workers could leave bytes to the other. */
Test(store, disks_are_what_they_were)
{
    struct world world;
    uint32_t before[16];
    uint64_t len;

    world_init(&world, "stripe(4K)");
    cr_assert_eq(file_truncate(world.local.fs, world.local.file, ROOM), 0);
    for (uint64_t i = 0; i < 16; i++)
        before[i] = world.store.ops->disk(world.store.ctx, i * 4096, &len);
    cr_assert(before[0] != before[1]);
    migrate(&world, "one");
    for (uint64_t i = 0; i < 16; i++)
        cr_expect_eq(world.store.ops->disk(world.store.ctx, i * 4096, &len), before[i]);
    file_store_done(&world.file_store);
    world.store = file_store_of(&world.file_store);
    cr_expect_eq(world.store.ops->disk(world.store.ctx, 0, &len), world.store.ops->disk(world.store.ctx, 4096, &len));
    world_done(&world);
}

/* -- far away -- */

/* Bytes far from the beginning of a sparse file are read, not mapped: a table of mappings up to there would take
 * memory. */
Test(store, the_end_of_a_sparse_file)
{
    const uint64_t far = (UINT64_C(1) << 43) + 12345; /* files of ext4 are at most twice as long */
    struct world world;
    char found[5] = "";
    void *addr;

    world_init(&world, "one");
    cr_assert_eq(file_write(world.local.fs, world.local.file, "bytes", 5, far), 5);
    cr_expect_eq(world.store.ops->map(world.store.ctx, 5, far, false, &addr), 0,
                 "it is mapped, with a table up to there");
    cr_assert_eq(world.store.ops->read(world.store.ctx, found, sizeof found, far, NULL), 0);
    cr_expect_eq(memcmp(found, "bytes", sizeof found), 0);
    world_done(&world);
}
