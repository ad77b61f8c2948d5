/* SPDX-License-Identifier: MIT */
/* Reading and writing through views of files on real directories: random layouts, random views, against the oracle. */
#include "fs/core/view/file_view.h"
#include "test/core/local.h"
#include "test/support/oracle.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define N_DISKS 3
#define ROOM    40000

struct world {
    struct local local;
    uint64_t size; /* of the file, as it should be; bytes as well */
    uint8_t bytes[ROOM];
};

static void world_init(struct world *world, const char *layout)
{
    memset(world, 0, sizeof *world);
    local_init(&world->local, N_DISKS, layout);
}

/* A view, and which bytes of the file it has, as the oracle says. */
struct tried {
    struct file_view *file_view;
    struct file_view_counters counters;
    uint32_t n;
    uint32_t byte[ROOM];
};

static void try_view(struct world *world, struct tried *tried, const struct oracle *oracle, uint32_t element)
{
    static char text[ORACLE_MAX_TEXT + 32];
    struct layout_error error;
    struct view *view;

    snprintf(text, sizeof text, "%s element %u", oracle->text, element);
    cr_assert_eq(view_parse(text, strlen(text), N_DISKS, &view, &error), 0, "%s: %s", text, error.why);
    cr_assert_eq(file_view_new(world->local.fs, view, &tried->counters, &tried->file_view), 0);
    view_put(view);
    tried->n = 0;
    for (uint32_t x = 0; x < ROOM; x++)
        if (oracle_map(oracle, x).element == element)
            tried->byte[tried->n++] = x;
}

static uint32_t len_now(const struct world *world, const struct tried *tried)
{
    uint32_t n = 0;

    while (n < tried->n && tried->byte[n] < world->size)
        n++;
    return n;
}

static void write_some(struct world *world, const struct tried *tried, struct rng *rng)
{
    static uint8_t data[ROOM];
    uint32_t off = (uint32_t) rng_below(rng, tried->n), most = rng_chance(rng, 50) ? 40 : ROOM;
    uint32_t len = (uint32_t) rng_between(rng, 1, MIN(tried->n - off, most));

    for (uint32_t i = 0; i < len; i++) {
        data[i] = (uint8_t) rng_u64(rng);
        world->bytes[tried->byte[off + i]] = data[i];
    }
    world->size = MAX(world->size, tried->byte[off + len - 1] + UINT64_C(1));
    cr_assert_eq(file_view_write(tried->file_view, world->local.file, data, len, off), (ssize_t) len, RNG_SEED,
                 rng->seed);
}

static void read_some(struct world *world, const struct tried *tried, struct rng *rng)
{
    static uint8_t found[ROOM];
    uint32_t end = len_now(world, tried), off = (uint32_t) rng_below(rng, end + 3);
    uint32_t len = (uint32_t) rng_between(rng, 1, ROOM), n = off < end ? MIN(len, end - off) : 0;

    cr_assert_eq(file_view_read(tried->file_view, world->local.file, found, len, off), (ssize_t) n, RNG_SEED,
                 rng->seed);
    for (uint32_t i = 0; i < n; i++)
        cr_assert_eq(found[i], world->bytes[tried->byte[off + i]], "byte %u, " RNG_SEED, off + i, rng->seed);
}

static void grow(struct world *world, const struct tried *tried, struct rng *rng)
{
    uint32_t now = len_now(world, tried), len = (uint32_t) rng_between(rng, 0, tried->n);
    int r = file_view_grow(world->local.fs, file_view_view(tried->file_view), world->local.file, len);

    cr_assert_eq(r, len < now ? -EINVAL : 0, RNG_SEED, rng->seed);
    if (len > now)
        world->size = tried->byte[len - 1] + UINT64_C(1);
}

/* Looks for data and holes: what is found lies between off and the end, and nothing but zeros lies before the data. */
static void seek(struct world *world, const struct tried *tried, struct rng *rng)
{
    uint32_t end = len_now(world, tried), off = (uint32_t) rng_below(rng, end + 3);
    int64_t data = file_view_seek(tried->file_view, world->local.file, off, SEEK_DATA);
    int64_t hole = file_view_seek(tried->file_view, world->local.file, off, SEEK_HOLE);

    if (off >= end) {
        cr_assert(data == -ENXIO && hole == -ENXIO, RNG_SEED, rng->seed);
        return;
    }
    cr_assert(hole >= off && hole <= end, RNG_SEED, rng->seed);
    cr_assert(data == -ENXIO || (data >= off && data < end), RNG_SEED, rng->seed);
    for (uint32_t i = off; i < (data == -ENXIO ? end : (uint64_t) data); i++)
        cr_assert_eq(world->bytes[tried->byte[i]], 0, "SEEK_DATA passes over byte %u, " RNG_SEED, i, rng->seed);
}

static void check_file(struct world *world, const struct rng *rng)
{
    static uint8_t found[ROOM + 1];

    cr_assert_eq(file_read(world->local.fs, world->local.file, found, sizeof found, 0), (ssize_t) world->size, RNG_SEED,
                 rng->seed);
    for (uint64_t i = 0; i < world->size; i++)
        cr_assert_eq(found[i], world->bytes[i], "byte %" PRIu64 " of the file, " RNG_SEED, i, rng->seed);
}

/* Whether a layout names disks. The test leaves those out: it is about bytes, and has three disks only. */
static bool names_disks(const struct oracle *oracle)
{
    return strstr(oracle->text, " on ") != NULL || strchr(oracle->text, ':') != NULL;
}

static bool choose_element(const struct oracle *oracle, struct rng *rng, uint32_t *ret_element)
{
    *ret_element = (uint32_t) rng_below(rng, oracle->n_elements);
    return oracle->bytes[*ret_element] > 0 && oracle->disp + oracle->size < ROOM;
}

static void try_all(struct world *world, const struct tried *tried, struct rng *rng)
{
    for (int i = 0; i < 30; i++) {
        unsigned what = (unsigned) rng_below(rng, 10);

        if (what < 4)
            write_some(world, tried, rng);
        else if (what < 8)
            read_some(world, tried, rng);
        else if (what == 8)
            grow(world, tried, rng);
        else
            seek(world, tried, rng);
        check_file(world, rng);
    }
}

Test(file_view, is_the_part_of_the_file_that_the_oracle_says)
{
    static struct oracle layout, pattern;
    static struct world world;
    static struct tried tried;

    for (struct rng rng = rng_from_env(25); rng_next(&rng);) {
        bool is_subfile = rng_chance(&rng, 30);
        struct file_view_counts counts;
        uint32_t element;

        oracle_random(&layout, &rng);
        oracle_random(&pattern, &rng);
        if (names_disks(&layout) || names_disks(&pattern) ||
            !choose_element(is_subfile ? &layout : &pattern, &rng, &element))
            continue;
        world_init(&world, layout.text);
        tried.counters = (struct file_view_counters){ 0 };
        try_view(&world, &tried, is_subfile ? &layout : &pattern, element);
        try_all(&world, &tried, &rng);
        counts = file_view_counts(&tried.counters);
        if (is_subfile && !world.local.is_churned)
            cr_assert(counts.as_runs == 0 && counts.gathered == 0, "%s element %u: " RNG_SEED, layout.text, element,
                      rng.seed);
        file_view_free(tried.file_view);
        local_done(&world.local);
    }
}
