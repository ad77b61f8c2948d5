/* SPDX-License-Identifier: MIT */
/* Which replicas are proposed for what several do with a matrix, and that they serve it in what they are said to. */
#include "fs/learn/reckon.h"
#include "fs/learn/replicas.h"
#include "test/learn/learned.h"
#include "test/support/texts.h"

#include <criterion/criterion.h>

#define COST                                               \
    {                                                      \
        .seek = 1000000, .call = 100000, .rate = 100 << 20 \
    }
#define N     2048 /* rows and columns, of 8 bytes */
#define SIZE  (UINT64_C(8) * N * N)
#define DISKS 4

static const struct disk_cost cost = COST;
static const struct disk_costs costs[DISKS] = { { COST, COST }, { COST, COST }, { COST, COST }, { COST, COST } };

enum { BY_ROWS, BY_COLUMNS, STRIPES, LAYOUTS };

static const char *const text[LAYOUTS] = { "array(shape=2048x2048, elem=8, dist=(block,*), grid=4x1)",
                                           "array(shape=2048x2048, elem=8, dist=(*,block), grid=1x4)", "stripe(4,4)" };

static void add(struct touches *touches, struct touch touch)
{
    cr_assert(array_grow(touches->touch, touches->n));
    touches->touch[touches->n++] = touch;
    touches->n_ranks = MAX(touches->n_ranks, touch.rank + 1);
    touches->end = MAX(touches->end, touch.end);
    *(touch.writes ? &touches->bytes_written : &touches->bytes_read) += touch.end - touch.off;
}

/* Each of the ranks from first on, in turn, has a whole row. */
static void have_rows(struct touches *touches, uint32_t first, uint32_t n, uint64_t from, bool writes, bool by_pattern)
{
    for (uint64_t i = 0; i < 300; i++)
        for (uint32_t rank = 0; rank < n; rank++) {
            uint64_t off = (from + ((rank * 300 + i) * 37) % (N - from)) * N * 8;

            add(touches, (struct touch){ off, off + N * 8, touches->n + 1, first + rank, writes, by_pattern });
        }
}

/* Each of the ranks from first on, in turn, reads a column of 8 bytes, between two rows. */
static void read_columns(struct touches *touches, uint32_t first, uint32_t n, uint64_t from, bool by_pattern)
{
    for (uint64_t i = 0; i < 20; i++)
        for (uint32_t rank = 0; rank < n; rank++) {
            uint64_t at = touches->n + 1, column = (rank * 20 + i) * 25 % N;

            for (uint64_t row = from; row < N; row++)
                add(touches, (struct touch){ (row * N + column) * 8, (row * N + column) * 8 + 8, at, first + rank,
                                             false, by_pattern });
        }
}

static struct replicas find(const struct touches *touches, size_t base, size_t now, const struct busy_layout *has,
                            uint32_t n_has)
{
    cleanup(chunks_done) struct chunks chunks = { 0 };
    struct layout *layout[LAYOUTS];
    const struct pattern *pattern[LAYOUTS];
    struct replicas replicas;

    for (size_t i = 0; i < LAYOUTS; i++) {
        layout[i] = layout_of(text[i]);
        pattern[i] = layout[i]->pattern;
    }
    cr_assert_eq(chunks_init(&chunks, touches), 0);
    cr_assert_eq(replicas_find(&replicas, &(struct replicas_asked){ touches, &chunks, pattern, LAYOUTS, base, now, has,
                                                                    n_has, DISKS, EXTENTS_ALL, costs, costs }),
                 0);
    for (size_t i = 0; i < LAYOUTS; i++)
        layout_free(layout[i]);
    return replicas;
}

/* Rows and columns: each layout is the file's or a replica's, whichever the file has now. */
Test(replicas, let_a_file_lie_both_ways)
{
    cleanup(touches_done) struct touches touches = { 0 };
    struct replicas found;

    have_rows(&touches, 0, 4, 0, false, true);
    read_columns(&touches, 4, 4, 0, true);
    for (size_t now = 0; now < LAYOUTS; now++) {
        found = find(&touches, now == STRIPES ? BY_COLUMNS : now, now, NULL, 0);
        cr_assert_eq(found.n, 1, "now %s: %u", text[now], found.n);
        cr_expect_eq(found.base, now == STRIPES ? BY_COLUMNS : now);
        cr_expect_eq(found.replica[0].layout, found.base == BY_ROWS ? BY_COLUMNS : BY_ROWS);
        cr_expect(!found.replica[0].updates);
        cr_expect(replicas_pay(found.replica[0].elapsed, found.replica[0].before));
    }
}

/* One that is there already is not proposed again. */
Test(replicas, that_there_are_count)
{
    cleanup(layout_freep) struct layout *rows = layout_of(text[BY_ROWS]);
    const struct busy_layout has = { rows->pattern, 0, UINT64_MAX, false };
    cleanup(touches_done) struct touches touches = { 0 };

    have_rows(&touches, 0, 4, 0, false, true);
    read_columns(&touches, 4, 4, 0, true);
    cr_expect_eq(find(&touches, BY_COLUMNS, BY_COLUMNS, &has, 1).n, 0);
}

/* One writes rows, others read rows and columns: what they read follows the writes. */
Test(replicas, of_what_one_writes_follow_him)
{
    cleanup(touches_done) struct touches touches = { 0 };
    struct replicas found;

    have_rows(&touches, 8, 1, 0, true, true);
    have_rows(&touches, 0, 4, 0, false, true);
    read_columns(&touches, 4, 4, 0, true);
    found = find(&touches, BY_COLUMNS, BY_COLUMNS, NULL, 0);
    cr_assert_eq(found.n, 1);
    cr_expect_eq(found.replica[0].layout, BY_ROWS);
    cr_expect(found.replica[0].updates);
}

/* The lower half is read so, and no more lies there, too. */
Test(replicas, have_what_is_read_of_them)
{
    const uint64_t half = SIZE / 2;
    cleanup(touches_done) struct touches touches = { 0 };
    struct replicas found;

    have_rows(&touches, 0, 4, N / 2, false, true);
    read_columns(&touches, 4, 4, N / 2, true);
    found = find(&touches, BY_COLUMNS, BY_COLUMNS, NULL, 0);
    cr_assert_eq(found.n, 1);
    cr_expect(found.replica[0].lo >= half && found.replica[0].hi <= SIZE, "%" PRIu64 " to %" PRIu64,
              found.replica[0].lo, found.replica[0].hi);
}

/* All write: nobody could read a replica that is right. */
Test(replicas, of_what_all_write_are_none)
{
    cleanup(touches_done) struct touches touches = { 0 };

    for (uint32_t rank = 0; rank < 8; rank++)
        for (uint64_t at = 0; at < SIZE; at += 1 << 20)
            add(&touches, (struct touch){ at, at + (1 << 20), touches.n + 1, rank, true, true });
    have_rows(&touches, 0, 4, 0, false, true);
    read_columns(&touches, 4, 4, 0, true);
    cr_expect_eq(find(&touches, BY_COLUMNS, BY_COLUMNS, NULL, 0).n, 0);
}

/* One process alone, by rows and by columns. */
Test(replicas, of_what_one_has_for_itself_are_none)
{
    cleanup(touches_done) struct touches touches = { 0 };
    struct replicas found;

    have_rows(&touches, 0, 1, 0, false, true);
    read_columns(&touches, 0, 1, 0, true);
    found = find(&touches, BY_COLUMNS, BY_COLUMNS, NULL, 0);
    cr_expect(found.n == 0 && !found.is_plain);
}

/* Who reads by himself gets the file. */
Test(replicas, are_not_for_plain_reads)
{
    cleanup(touches_done) struct touches touches = { 0 };
    struct replicas found;

    have_rows(&touches, 0, 4, 0, false, false);
    read_columns(&touches, 4, 4, 0, false);
    found = find(&touches, BY_COLUMNS, BY_COLUMNS, NULL, 0);
    cr_expect(found.n == 0 && found.is_plain);
}

/* What all read alike one layout serves. */
Test(replicas, of_what_all_read_alike_are_none)
{
    cleanup(touches_done) struct touches touches = { 0 };

    have_rows(&touches, 0, 8, 0, false, true);
    cr_expect_eq(find(&touches, BY_ROWS, BY_COLUMNS, NULL, 0).n, 0);
}

/* -- what an access takes -- */

/* A column lies on one disk by columns, and on all of them by rows: in each window from its first row there to its
 * last. */
Test(replicas, are_reckoned_as_a_mount_does)
{
    cleanup(layout_freep) struct layout *rows = layout_of(text[BY_ROWS]), *columns = layout_of(text[BY_COLUMNS]);
    cleanup(demands_done) struct demands demands = { 0 };
    cleanup(reckon_done) struct reckon reckon = { 0 };
    cleanup(touches_done) struct touches touches = { 0 };
    const double start = (double) (cost.seek + cost.call), byte = 1e9 / (double) cost.rate;
    const double windows = (double) (SIZE / RECKON_WINDOW), rows_in_one = (double) RECKON_WINDOW / (N * 8);
    struct reckon_layout of_rows = reckon_look(rows->pattern, 0), of_columns = reckon_look(columns->pattern, 0);
    double by_rows, by_columns;

    have_rows(&touches, 0, 1, 0, false, true);
    read_columns(&touches, 1, 1, 0, true);
    cr_assert_eq(demands_init(&demands, &touches), 0);
    cr_assert_eq(demands.n, 320);
    cr_assert(demands.demand[300].end - demands.demand[300].first == N && demands.demand[300].under_way == 1);
    cr_assert_eq(reckon_init(&reckon, &touches, DISKS, costs, DISKS), 0);
    by_rows = reckon_cost(&reckon, &demands.demand[300], &of_rows);
    by_columns = reckon_cost(&reckon, &demands.demand[300], &of_columns);
    cr_expect_float_eq(by_rows, windows / DISKS * (start + ((rows_in_one - 1) * N * 8 + 8) * byte), 1000);
    cr_expect_float_eq(by_columns, windows * (start + ((rows_in_one - 1) * N / DISKS * 8 + 8) * byte), 1000);
    demands.demand[300].under_way = 4; /* then others wait for what all disks do */
    cr_expect_float_eq(reckon_cost(&reckon, &demands.demand[300], &of_rows), DISKS * by_rows, 1000);
    cr_expect_float_eq(reckon_cost(&reckon, &demands.demand[300], &of_columns), by_columns, 1000);
}
