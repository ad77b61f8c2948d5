/* SPDX-License-Identifier: MIT */
/* Classes, partitions and order of first access, beside a reading of every byte. */
#include "test/learn/learned.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

static void check_chunk(const struct chunk *found, const struct chunk *want, uint64_t seed)
{
    cr_assert(found->off == want->off && found->end == want->end,
              RNG_SEED ": chunk %" PRIu64 "..%" PRIu64 ", not %" PRIu64 "..%" PRIu64, seed, found->off, found->end,
              want->off, want->end);
    cr_assert(found->readers == want->readers && found->writers == want->writers && found->ranks == want->ranks,
              RNG_SEED ": users of the chunk at %" PRIu64, seed, want->off);
    cr_assert_eq(chunk_class(found), chunk_class(want), RNG_SEED ": class of the chunk at %" PRIu64, seed, want->off);
    cr_assert(found->reads == want->reads && found->writes == want->writes,
              RNG_SEED ": %" PRIu32 " reads and %" PRIu32 " writes of the chunk at %" PRIu64 ", not %" PRIu32
                       " and %" PRIu32,
              seed, found->reads, found->writes, want->off, want->reads, want->writes);
    cr_assert_eq(found->first, want->first, RNG_SEED ": first access of the chunk at %" PRIu64, seed, want->off);
    cr_assert(found->top == want->top && found->top_reader == want->top_reader,
              RNG_SEED ": ranks %" PRIu32 " and %" PRIu32 " have most of the chunk at %" PRIu64 ", not %" PRIu32
                       " and %" PRIu32,
              seed, found->top, found->top_reader, want->off, want->top, want->top_reader);
}

/* The partitions by insertion: each chunk before the first that belongs behind it. */
static void check_partition(const struct chunks *chunks, enum partition_reading reading, uint64_t seed)
{
    uint32_t *order = partition_order(chunks, reading), want[LEARNED_BYTES];
    size_t n = 0;

    for (uint32_t i = 0; i < chunks->n; i++) {
        const struct chunk *chunk = &chunks->chunk[i];
        size_t at = n++;

        for (; at > 0; at--) {
            const struct chunk *before = &chunks->chunk[want[at - 1]];
            uint32_t a = partition_of(before, reading), b = partition_of(chunk, reading);

            if (a < b || (a == b && before->first <= chunk->first))
                break;
            want[at] = want[at - 1];
        }
        want[at] = i;
    }
    cr_assert(order != NULL || chunks->n == 0);
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(order[i], want[i], RNG_SEED ": reading %d, place %zu", seed, (int) reading, i);
    free(order);
}

Test(chunks, are_those_of_a_reading_of_every_byte)
{
    static struct chunk want[LEARNED_BYTES];
    static struct learned learned;

    for (struct rng rng = rng_from_env(10000); rng_next(&rng);) {
        struct touches touches;
        struct chunks chunks;
        size_t n;

        learned_random(&learned, &rng);
        n = learned_chunks(&learned, want);
        cr_assert_eq(touches_init(&touches, &learned.trace, 0, NULL), 0);
        cr_assert_eq(chunks_init(&chunks, &touches), 0);
        for (uint32_t rank = 0; rank < touches.n_ranks; rank++)
            cr_assert_eq(touches.process[rank], learned_process(&learned, rank), RNG_SEED ": rank %" PRIu32, rng.seed,
                         rank);
        cr_assert_eq(chunks.n, n, RNG_SEED ": %zu chunks, not %zu", rng.seed, chunks.n, n);
        for (size_t i = 0; i < n; i++)
            check_chunk(&chunks.chunk[i], &want[i], rng.seed);
        check_partition(&chunks, PARTITION_TEXT, rng.seed);
        check_partition(&chunks, PARTITION_FIGURE, rng.seed);
        chunks_done(&chunks);
        touches_done(&touches);
    }
}

/* -- the paper's cases -- */

struct access_row {
    uint32_t process;
    bool writes;
    uint64_t offset, len;
};

struct class_case {
    char why[48];
    struct access_row access[4];
    enum chunk_class class;
    uint32_t text, figure; /* the partition of bytes 0 to 9, by either reading */
};

ParameterizedTestParameters(chunks, classes)
{
    static struct class_case rows[] = {
        { "written and read by one", { { 2, true, 0, 10 }, { 2, false, 0, 10 } }, CHUNK_ONE, 0, 0 },
        { "read by two", { { 0, false, 0, 10 }, { 1, false, 0, 10 }, { 1, false, 0, 10 } }, CHUNK_READ, 1, 1 },
        { "of equals the first", { { 5, false, 0, 10 }, { 1, false, 0, 10 } }, CHUNK_READ, 0, 0 },
        { "written often, read once by another",
          { { 0, true, 0, 10 }, { 0, true, 0, 10 }, { 1, false, 0, 10 } },
          CHUNK_WRITTEN_ONE,
          0,
          1 },
        { "written by two", { { 0, true, 0, 10 }, { 1, true, 0, 10 } }, CHUNK_SHARED, 0, PARTITION_SHARED },
        { "written by two, one reads it",
          { { 0, true, 0, 10 }, { 1, true, 0, 10 }, { 1, false, 0, 10 } },
          CHUNK_SHARED,
          1,
          PARTITION_SHARED },
        { "piece by piece it is one access less than whole",
          { { 0, false, 0, 5 }, { 0, false, 5, 5 }, { 1, false, 0, 10 } },
          CHUNK_READ,
          0,
          0 },
    };

    return cr_make_param_array(struct class_case, rows, ARRAY_SIZE(rows));
}

ParameterizedTest(struct class_case *row, chunks, classes)
{
    struct learned learned = { 0 };
    struct touches touches;
    struct chunks chunks;

    for (size_t i = 0; i < ARRAY_SIZE(row->access) && row->access[i].len > 0; i++)
        learned_add(&learned, row->access[i].process, row->access[i].writes, row->access[i].offset, row->access[i].len);
    cr_assert_eq(touches_init(&touches, &learned.trace, 0, NULL), 0);
    cr_assert_eq(chunks_init(&chunks, &touches), 0);
    cr_assert_eq(chunks.n, 1, "%s", row->why);
    cr_expect_eq(chunk_class(&chunks.chunk[0]), row->class, "%s", row->why);
    cr_expect_eq(partition_of(&chunks.chunk[0], PARTITION_TEXT), row->text, "%s", row->why);
    cr_expect_eq(partition_of(&chunks.chunk[0], PARTITION_FIGURE), row->figure, "%s", row->why);
    chunks_done(&chunks);
    touches_done(&touches);
}

/* -- ranks -- */

struct rank_case {
    char why[48];
    uint32_t ranked[4];  /* of processes 0 to 3 */
    uint32_t process[5]; /* that access a byte each, in that order; 9: none any more, 8: the kernel */
    uint32_t want[5];    /* the processes that are ranks 0, 1, ...; 9: there are no more */
};

ParameterizedTestParameters(chunks, ranks)
{
    static struct rank_case rows[] = {
        { "by first access", { 0, 0, 0, 0 }, { 2, 0, 2, 1, 9 }, { 2, 0, 1, 9, 9 } },
        { "MPI's", { 1, 2, 3, 4 }, { 3, 1, 0, 2, 3 }, { 0, 1, 2, 3, 9 } },
        { "MPI's that do something", { 4, 3, 2, 1 }, { 0, 2, 9, 9, 9 }, { 2, 0, 9, 9, 9 } },
        { "others behind them", { 0, 2, 0, 1 }, { 2, 8, 1, 0, 3 }, { 3, 1, 2, 8, 0 } },
    };

    return cr_make_param_array(struct rank_case, rows, ARRAY_SIZE(rows));
}

ParameterizedTest(struct rank_case *row, chunks, ranks)
{
    struct traced_process process[4];
    struct traced_access access[5];
    struct trace trace = { .process = process, .n_processes = 4, .access = access };
    struct touches touches;

    for (size_t i = 0; i < ARRAY_SIZE(process); i++)
        process[i] = (struct traced_process){ .ranked = row->ranked[i] };
    while (trace.n_accesses < ARRAY_SIZE(access) && row->process[trace.n_accesses] != 9) {
        uint32_t who = row->process[trace.n_accesses];

        access[trace.n_accesses] = (struct traced_access){ .process = who == 8 ? TRACE_NOBODY : who,
                                                           .pattern = TRACE_NOBODY,
                                                           .offset = trace.n_accesses,
                                                           .len = 1,
                                                           .at = trace.n_accesses };
        trace.n_accesses++;
    }
    cr_assert_eq(touches_init(&touches, &trace, 0, NULL), 0);
    for (uint32_t rank = 0; rank < touches.n_ranks; rank++) {
        uint32_t who = row->want[rank] == 8 ? TRACE_NOBODY : row->want[rank];

        cr_expect_eq(touches.process[rank], who, "%s: rank %" PRIu32, row->why, rank);
        cr_expect_eq(touches.touch[touches.first[rank]].rank, rank, "%s", row->why);
    }
    cr_expect(touches.n_ranks == ARRAY_SIZE(row->want) || row->want[touches.n_ranks] == 9, "%s", row->why);
    touches_done(&touches);
}
