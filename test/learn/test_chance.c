/* SPDX-License-Identifier: MIT */
/* Reads in some order are not taken for reads by chance, and those without any are. */
#include "fs/learn/chance.h"
#include "test/support/rng.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#define BYTES (UINT64_C(1) << 20)

enum way {
    FORWARD,  /* one record behind the other */
    COLUMN,   /* one of each 100, from the first to the last, again and again */
    BACKWARD, /* as a sort that goes from the end to the front */
    EACH_TENTH_BACK,
    UP_AND_DOWN,
    DENSE,    /* all of the file, in any order */
    TWO,      /* the first bytes, and then a record, each further on */
    ANYWHERE, /* records by chance */
    FEW,      /* so, but so few that it may be an order */
};

struct chance_case {
    char why[48];
    enum way way;
    uint64_t n, len;
    bool is;
};

static void add(struct touches *touches, uint32_t rank, uint64_t off, uint64_t len)
{
    cr_assert(array_grow(touches->touch, touches->n));
    touches->touch[touches->n] = (struct touch){ off, off + len, touches->n, rank, false, false };
    touches->n++;
    touches->end = MAX(touches->end, off + len);
}

static void add_read(struct touches *touches, const struct chance_case *row, uint32_t rank, uint64_t i, struct rng *rng)
{
    uint64_t own = rank * row->n * row->len;

    switch (row->way) {
    case FORWARD:
        add(touches, rank, own + i * row->len, row->len);
        break;
    case COLUMN:
        add(touches, rank, rank * row->len + i % 50 * 100 * row->len, row->len);
        break;
    case EACH_TENTH_BACK:
        add(touches, rank, (rank + (row->n - 1 - i) * 10 * 4) * row->len, row->len);
        break;
    case UP_AND_DOWN:
        add(touches, rank, (rank + (i < row->n / 2 ? 40 * i : 20 + 40 * (row->n - 1 - i)) * 4) * row->len, row->len);
        break;
    case BACKWARD:
        add(touches, rank, own + (row->n - 1 - i) * row->len, row->len);
        break;
    case DENSE:
        add(touches, rank, rng_below(rng, BYTES / row->len) * row->len, row->len);
        break;
    case TWO:
        add(touches, rank, 0, row->len);
        add(touches, rank, own + (i + 1) * 50 * row->len, row->len);
        break;
    case ANYWHERE:
    case FEW:
        add(touches, rank, rng_below(rng, BYTES / row->len) * row->len, row->len);
        break;
    }
}

ParameterizedTestParameters(chance, tells)
{
    static struct chance_case rows[] = {
        { "records in order", FORWARD, 100, 64, false },
        { "a column, again and again", COLUMN, 200, 64, false },
        { "backward", BACKWARD, 200, 64, false },
        { "each tenth, backward", EACH_TENTH_BACK, 200, 64, false },
        { "up and down", UP_AND_DOWN, 200, 16, false },
        { "all of it in any order", DENSE, 4000, 4096, false },
        { "a header before each record", TWO, 60, 16, false },
        { "records by chance", ANYWHERE, 60, 100, true },
        { "many records by chance", ANYWHERE, 500, 16, true },
        { "a few", FEW, 5, 100, false },
    };

    return cr_make_param_array(struct chance_case, rows, ARRAY_SIZE(rows));
}

ParameterizedTest(struct chance_case *row, chance, tells)
{
    for (struct rng rng = rng_from_env(20); rng_next(&rng);) {
        struct touches touches = { .n_ranks = 4, .first = calloc(4, sizeof(size_t)) };
        struct extents read;
        bool is;

        for (uint64_t i = 0; i < row->n; i++)
            for (uint32_t rank = 0; rank < touches.n_ranks; rank++)
                add_read(&touches, row, rank, i, &rng);
        cr_assert_eq(extents_init(&read, &touches, EXTENTS_READ), 0);
        cr_assert_eq(is_by_chance(&touches, &read, &is), 0);
        cr_expect_eq(is, row->is, RNG_SEED ": %s", rng.seed, row->why);
        extents_done(&read);
        touches_done(&touches);
    }
}

/* Who only writes reads nothing by chance. */
Test(chance, nothing_is_read)
{
    struct touches touches = { .n_ranks = 1, .first = calloc(1, sizeof(size_t)) };
    struct extents read;
    bool is = true;

    for (uint64_t i = 0; i < 100; i++) {
        add(&touches, 0, i * 7919 % 100 * 1000, 10);
        touches.touch[i].writes = true;
    }
    cr_assert_eq(extents_init(&read, &touches, EXTENTS_READ), 0);
    cr_assert_eq(is_by_chance(&touches, &read, &is), 0);
    cr_expect(!is);
    extents_done(&read);
    touches_done(&touches);
}
