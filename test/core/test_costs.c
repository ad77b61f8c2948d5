/* SPDX-License-Identifier: MIT */
/* What was measured of a disk, as it is kept: whole it is read again, and whatever happened to it, it is never taken
 * for something else. */
#include "fs/core/volume/costs.h"
#include "test/support/rng.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

static struct costs_of random_side(struct rng *rng)
{
    return (struct costs_of){ rng_between(rng, 0, COSTS_MAX_NS), rng_between(rng, 0, COSTS_MAX_NS),
                              rng_between(rng, 1, UINT64_MAX) };
}

static void random_costs(struct rng *rng, struct costs *costs)
{
    *costs = (struct costs){ .measured = rng_u64(rng),
                             .direct = rng_chance(rng, 50),
                             .spread = (uint32_t) rng_between(rng, 0, 1000),
                             .read = random_side(rng),
                             .write = random_side(rng),
                             .n_chunks = (uint32_t) rng_between(rng, 0, COSTS_MAX_CHUNKS) };
    for (size_t i = 0; i < sizeof costs->disk; i++)
        costs->disk[i] = (uint8_t) rng_u64(rng);
    for (uint32_t i = 0; i < costs->n_chunks; i++)
        costs->chunk[i] = (struct costs_chunk){ (uint32_t) rng_between(rng, 1, INT32_MAX), rng_u64(rng), rng_u64(rng),
                                                rng_u64(rng), rng_u64(rng) };
}

static bool are_same(const struct costs *a, const struct costs *b)
{
    bool same = memcmp(a->disk, b->disk, sizeof a->disk) == 0 && a->measured == b->measured && a->spread == b->spread &&
                a->direct == b->direct && memcmp(&a->read, &b->read, sizeof a->read) == 0 &&
                memcmp(&a->write, &b->write, sizeof a->write) == 0 && a->n_chunks == b->n_chunks;

    for (uint32_t i = 0; same && i < a->n_chunks; i++) {
        const struct costs_chunk *x = &a->chunk[i], *y = &b->chunk[i];

        same = x->bytes == y->bytes && x->read == y->read && x->read_apart == y->read_apart && x->write == y->write &&
               x->write_apart == y->write_apart;
    }
    return same;
}

Test(costs, are_read_as_they_were_printed)
{
    for (struct rng rng = rng_from_env(1000); rng_next(&rng);) {
        cleanup(freep) char *text = NULL;
        struct costs costs, again;

        random_costs(&rng, &costs);
        cr_assert_eq(costs_print(&costs, &text), 0);
        cr_assert_eq(costs_parse(text, strlen(text), &again), 0, RNG_SEED "\n%s", rng.seed, text);
        cr_assert(are_same(&costs, &again), RNG_SEED "\n%s", rng.seed, text);
    }
}

Test(costs, damaged_ones_are_told)
{
    for (struct rng rng = rng_from_env(20); rng_next(&rng);) {
        cleanup(freep) char *text = NULL;
        struct costs costs, got = { .measured = 1 };
        size_t len;

        random_costs(&rng, &costs);
        cr_assert_eq(costs_print(&costs, &text), 0);
        len = strlen(text);
        for (size_t i = 0; i < len; i++) {
            char was = text[i];

            cr_assert_eq(costs_parse(text, i, &got), -EUCLEAN, RNG_SEED ": the first %zu bytes", rng.seed, i);
            text[i] = (char) (was ^ (char) rng_between(&rng, 1, 255));
            cr_assert_eq(costs_parse(text, len, &got), -EUCLEAN, RNG_SEED ": byte %zu", rng.seed, i);
            text[i] = was;
        }
        cr_assert_eq(got.measured, 1, "results stay as they were");
    }
}

/* -- the sum is right, and nothing else -- */

#define HEAD \
    "format = 1;\ndisk = \"244264d279fcac26a6a8c4f3de56e575\";\nmeasured = \"7\";\ndirect = true;\nspread = 4;\n"
#define READ   "read = { call = \"1\"; seek = \"2\"; rate = \"3\"; };\n"
#define WRITE  "write = { call = \"4\"; seek = \"5\"; rate = \"6\"; };\n"
#define CHUNK  "    { bytes = 512; read = \"1\"; read_apart = \"2\"; write = \"3\"; write_apart = \"4\"; }"
#define CHUNKS "chunks = (\n" CHUNK "\n);\n"

struct costs_case {
    char why[40], body[700];
    int want;
};

ParameterizedTestParameters(costs, forged)
{
    static struct costs_case rows[] = {
        { "as it is written", HEAD READ WRITE CHUNKS, 0 },
        { "without chunks", HEAD READ WRITE "chunks = (\n);\n", 0 },
        { "with two", HEAD READ WRITE "chunks = (\n" CHUNK ",\n" CHUNK "\n);\n", 0 },
        { "nothing", "", -EUCLEAN },
        { "a newer format", "format = 2;\nanything = [ 1 ];\n", -EPROTONOSUPPORT },
        { "format 0", "format = 0;\n", -EUCLEAN },
        { "includes a pipe", "@include \"pipe\"\n" HEAD READ WRITE CHUNKS, -EUCLEAN },
        { "a blank more", " " HEAD READ WRITE CHUNKS, -EUCLEAN },
        { "no writing", HEAD READ CHUNKS, -EUCLEAN },
        { "no chunks", HEAD READ WRITE, -EUCLEAN },
        { "chunks are a number", HEAD READ WRITE "chunks = 1;\n", -EUCLEAN },
        { "a chunk is a number", HEAD READ WRITE "chunks = (\n1\n);\n", -EUCLEAN },
        { "reading is a list", HEAD "read = ( 1 );\n" WRITE CHUNKS, -EUCLEAN },
        { "no rate", HEAD "read = { call = \"1\"; seek = \"2\"; };\n" WRITE CHUNKS, -EUCLEAN },
        { "a rate of 0", HEAD "read = { call = \"1\"; seek = \"2\"; rate = \"0\"; };\n" WRITE CHUNKS, -EUCLEAN },
        { "less than nothing", HEAD "read = { call = \"-1\"; seek = \"2\"; rate = \"3\"; };\n" WRITE CHUNKS, -EUCLEAN },
        { "a call of an hour", HEAD "read = { call = \"3600000000000\"; seek = \"2\"; rate = \"3\"; };\n" WRITE CHUNKS,
          -EUCLEAN },
        { "no number", HEAD "read = { call = \"1x\"; seek = \"2\"; rate = \"3\"; };\n" WRITE CHUNKS, -EUCLEAN },
        { "a chunk of nothing",
          HEAD READ WRITE
          "chunks = (\n    { bytes = 0; read = \"1\"; read_apart = \"2\"; write = \"3\"; write_apart = \"4\"; }\n);\n",
          -EUCLEAN },
        { "no disk", "format = 1;\ndisk = \"\";\nmeasured = \"7\";\ndirect = true;\nspread = 4;\n" READ WRITE CHUNKS,
          -EUCLEAN },
    };

    return cr_make_param_array(struct costs_case, rows, ARRAY_SIZE(rows));
}

ParameterizedTest(struct costs_case *row, costs, forged)
{
    char text[1024];
    int len = snprintf(text, sizeof text, "%s", row->body), r;
    struct costs costs;

    len += sprintf(text + len, "checksum = \"%016" PRIx64 "\";\n", (uint64_t) XXH3_64bits(text, (size_t) len));
    r = costs_parse(text, (size_t) len, &costs);
    cr_assert_eq(r, row->want, "%s: %d\n%s", row->why, r, text);
}

Test(costs, more_chunks_than_there_is_room_for)
{
    char text[8192];
    int len = sprintf(text, "%s", HEAD READ WRITE "chunks = (\n");
    struct costs costs;

    for (uint32_t i = 0; i <= COSTS_MAX_CHUNKS; i++)
        len += sprintf(text + len, "%s%s\n", CHUNK, i < COSTS_MAX_CHUNKS ? "," : "");
    len += sprintf(text + len, ");\n");
    len += sprintf(text + len, "checksum = \"%016" PRIx64 "\";\n", (uint64_t) XXH3_64bits(text, (size_t) len));
    cr_assert_eq(costs_parse(text, (size_t) len, &costs), -EUCLEAN);
}

/* -- on a disk -- */

Test(costs, are_of_one_disk)
{
    char dir[] = "/var/tmp/fallsfs.costs.XXXXXX";
    struct disk disk = { .ops = &disk_local_ops, .root = -1, .lock = -1 };
    struct rng rng = rng_from_seed(1);
    uint8_t other[DISK_UUID_SIZE] = { 0 };
    struct costs costs, got = { .measured = 1 };

    cr_assert_not_null(mkdtemp(dir));
    disk.root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    random_costs(&rng, &costs);
    cr_expect_eq(costs_read(&disk, costs.disk, &got), -ENOENT);
    for (int i = 0; i < 2; i++) { /* the second takes the place of the first */
        costs.measured++;
        cr_expect_eq(costs_write(&disk, &costs), 0);
        cr_expect_eq(costs_read(&disk, other, &got), -EXDEV);
        cr_expect_neq(got.measured, costs.measured);
        cr_expect_eq(costs_read(&disk, costs.disk, &got), 0);
        cr_expect(are_same(&costs, &got));
    }
    cr_expect_eq(disk_call(&disk, unlink, disk.root, COSTS_NAME, 0), 0);
    disk_close_root(&disk);
    cr_expect_eq(rmdir(dir), 0, "nothing else was left behind");
}
