/* SPDX-License-Identifier: MIT */
/* What programs would do with other numbers of processes and other sizes, beside having them do it. */
#include "fs/learn/predict.h"
#include "test/support/rng.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

enum kind {
    KIND_BLOCKS,     /* BT-IO: elements of 40 bytes of a z, y, x array, y and x divided by a square of ranks */
    KIND_COLUMNS,    /* y rows of x elements, x divided */
    KIND_ROWS,       /* the same, y divided, a row an access */
    KIND_CYCLIC,     /* the same, a row for each in turn, as of an image */
    KIND_SEISMIC,    /* a part for each of y records of 96 x, written whole, read in 48 pieces */
    KIND_TILES,      /* a square of tiles of y rows of x elements, each 2 elements and one row into its neighbours */
    KIND_CONTIGUOUS, /* perf: each one access of x */
    KIND_CELLS, /* BT-IO as it is: as blocks, but z divided, too, and the next cell, down and left, in each layer */
    KINDS,
};

/* A run of a program. */
struct run_of {
    enum kind kind;
    uint32_t ranks;
    uint64_t z, y, x, elem;
    bool in_turn; /* one rank after the other, not all at a time */
};

/* A part of it: [lo, hi) in each dimension. */
struct region {
    uint64_t off, rows, row_stride, planes, plane_stride, len;
};

static uint32_t side_of(uint32_t ranks)
{
    uint32_t side = 1;

    while (side * side < ranks)
        side++;
    return side;
}

/* Where part c of n begins, the first ones one longer. */
static uint64_t begin_of(uint64_t n, uint32_t p, uint32_t c)
{
    return n / p * c + MIN(c, n % p);
}

static struct region region_of(const struct run_of *run, uint32_t rank, bool writes)
{
    uint32_t side = side_of(run->ranks), row = rank / side, col = rank % side;
    uint64_t y = begin_of(run->y, side, row), x = begin_of(run->x, side, col), line = run->x * run->elem;
    uint64_t lo = begin_of(run->x, run->ranks, rank), top = begin_of(run->y, run->ranks, rank);

    switch (run->kind) {
    case KIND_BLOCKS:
        return (struct region){ y * line + x * run->elem,
                                begin_of(run->y, side, row + 1) - y,
                                line,
                                run->z,
                                run->y * line,
                                (begin_of(run->x, side, col + 1) - x) * run->elem };
    case KIND_COLUMNS:
        return (struct region){
            lo * run->elem, run->y, line, 1, 0, (begin_of(run->x, run->ranks, rank + 1) - lo) * run->elem
        };
    case KIND_ROWS:
        return (struct region){ top * line, begin_of(run->y, run->ranks, rank + 1) - top, line, 1, 0, line };
    case KIND_CYCLIC:
        return (struct region){ rank * line, (run->y + run->ranks - 1 - rank) / run->ranks, run->ranks * line, 1, 0,
                                line };
    case KIND_SEISMIC:
        lo = writes ? 96 * run->x : 2 * run->x;
        return (struct region){ rank * run->y * 96 * run->x, run->y * 96 * run->x / lo, lo, 1, 0, lo };
    case KIND_TILES:
        line = (side * run->x + 2) * run->elem;
        return (struct region){
            row * run->y * line + col * run->x * run->elem, run->y + 1, line, 1, 0, (run->x + 2) * run->elem
        };
    case KIND_CONTIGUOUS:
    case KIND_CELLS:
    case KINDS:
        break;
    }
    return (struct region){ rank * run->x * run->elem, 1, 0, 1, 0, run->x * run->elem };
}

struct access {
    uint64_t off, len;
};

/* Access i of a rank that has a cell in each layer; false: there are not so many. */
static bool cell_access(const struct run_of *run, uint32_t rank, uint64_t i, struct access *ret_access)
{
    uint32_t side = side_of(run->ranks), layer = 0;

    for (uint64_t z = 0; z < run->z; z++) {
        while (z >= begin_of(run->z, side, layer + 1))
            layer++;

        uint32_t row = (rank / side + layer) % side, col = (rank % side + side - layer) % side;
        uint64_t y = begin_of(run->y, side, row), rows = begin_of(run->y, side, row + 1) - y;
        uint64_t x = begin_of(run->x, side, col);

        if (i < rows) {
            *ret_access = (struct access){ (((z * run->y) + y + i) * run->x + x) * run->elem,
                                           (begin_of(run->x, side, col + 1) - x) * run->elem };
            return true;
        }
        i -= rows;
    }
    return false;
}

static bool access_of(const struct run_of *run, uint32_t rank, bool writes, uint64_t i, struct access *ret_access)
{
    struct region region = region_of(run, rank, writes);

    if (run->kind == KIND_CELLS)
        return cell_access(run, rank, i, ret_access);
    *ret_access =
        (struct access){ region.off + i / region.rows * region.plane_stride + i % region.rows * region.row_stride,
                         region.len };
    return i < region.rows * region.planes;
}

static void add_touch(struct touches *touches, uint32_t rank, const struct access *access, bool writes)
{
    uint64_t end = access->off + access->len;

    cr_assert(array_grow(touches->touch, touches->n));
    touches->touch[touches->n] = (struct touch){ access->off, end, touches->n, rank, writes, false };
    touches->n++;
    touches->end = MAX(touches->end, end);
}

/* Runs it: all is written, then all is read. */
static struct touches touches_of(const struct run_of *run)
{
    struct touches touches = { .n_ranks = run->ranks, .first = calloc(run->ranks, sizeof(size_t)) };

    for (int pass = 0; pass < 2; pass++) {
        struct access access;
        bool any = true;

        for (uint32_t rank = 0; run->in_turn && rank < run->ranks; rank++)
            for (uint64_t i = 0; access_of(run, rank, pass == 0, i, &access); i++)
                add_touch(&touches, rank, &access, pass == 0);
        for (uint64_t i = 0; !run->in_turn && any; i++) {
            any = false;
            for (uint32_t rank = 0; rank < run->ranks; rank++)
                if (access_of(run, rank, pass == 0, i, &access)) {
                    add_touch(&touches, rank, &access, pass == 0);
                    any = true;
                }
        }
    }
    for (size_t i = touches.n; i-- > 0;)
        touches.first[touches.touch[i].rank] = i;
    return touches;
}

/* The array that the run's file is. */
static struct array array_of(const struct run_of *run)
{
    uint32_t side = side_of(run->ranks);

    if (run->kind == KIND_BLOCKS || run->kind == KIND_CELLS)
        return (struct array){ .ndims = 3, .elem = run->elem, .size = { run->z, run->y, run->x } };
    if (run->kind == KIND_TILES)
        return (struct array){ .ndims = 2, .elem = run->elem, .size = { side * run->y + 1, side * run->x + 2 } };
    return (struct array){ .ndims = 2, .elem = run->elem, .size = { run->y, run->x } };
}

static bool is_same(const struct touches *a, const struct touches *b)
{
    if (a->n != b->n || a->n_ranks != b->n_ranks)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (a->touch[i].off != b->touch[i].off || a->touch[i].end != b->touch[i].end ||
            a->touch[i].rank != b->touch[i].rank || a->touch[i].writes != b->touch[i].writes)
            return false;
    return true;
}

/* Whether rows are divided into whole elements. */
static bool divides(const struct run_of *run)
{
    return run->x % (run->kind == KIND_BLOCKS || run->kind == KIND_CELLS ? side_of(run->ranks) : run->ranks) == 0;
}

/* What comes of predicting one run from another, and perhaps the beginning of a third. */
static int foretell(const struct run_of *from, const struct run_of *to, const struct run_of *also, size_t n_also,
                    bool knows_array, bool knows_new_array, struct predict_why *why, bool *ret_same, bool *ret_rounded)
{
    struct touches seen = touches_of(from), want = touches_of(to);
    struct touches second = also != NULL ? touches_of(also) : (struct touches){ 0 };
    const struct array array = array_of(from), new_array = array_of(to);
    const struct predicting predicting = {
        .touches = &seen,
        .size = seen.end,
        .array = knows_array ? &array : NULL,
        .procs = to->ranks,
        .new_size = to->ranks == side_of(to->ranks) * side_of(to->ranks) || to->kind != KIND_BLOCKS ? want.end : 0,
        .new_array = knows_new_array ? &new_array : NULL,
        .also = also != NULL ? &second : NULL,
        .also_size = n_also % 2 == 0 ? second.end : 0,
        .growth = GROWTHS
    };
    struct prediction prediction;
    int r;

    if (n_also > 0 && also != NULL) { /* at least the first access of each */
        second.n = MIN(second.n, MAX(n_also, second.first[also->ranks - 1] + 1));
        second.end = 0;
        for (size_t i = 0; i < second.n; i++)
            second.end = MAX(second.end, second.touch[i].end);
    }
    r = prediction_init(&prediction, &predicting, why);
    *ret_same = r == 0 && is_same(&prediction.touches, &want);
    *ret_rounded = r == 0 && (prediction.is_rounded || (prediction.by_bytes && !divides(to)));
    if (r == 0)
        prediction_done(&prediction);
    touches_done(&seen);
    touches_done(&want);
    touches_done(&second);
    return r;
}

struct predict_case {
    char why[64];
    struct run_of from, to, also; /* also.ranks 0: none */
    size_t n_also;                /* of its accesses; 0: all; even: it is known how large its file is */
    bool knows_array, knows_new_array;
    int r; /* -EDOM, and then why */
    enum predict_failure failure;
};

#define BLOCKS(p, n)                       \
    {                                      \
        KIND_BLOCKS, p, n, n, n, 40, false \
    }
#define CELLS(p, n)                       \
    {                                     \
        KIND_CELLS, p, n, n, n, 40, false \
    }
#define COLUMNS(p, y, x)                   \
    {                                      \
        KIND_COLUMNS, p, 1, y, x, 8, false \
    }
#define ROWS(p, y, x)                   \
    {                                   \
        KIND_ROWS, p, 1, y, x, 8, false \
    }
#define CYCLIC(p, y, x)                   \
    {                                     \
        KIND_CYCLIC, p, 1, y, x, 8, false \
    }
#define SEISMIC(p, y)                         \
    {                                         \
        KIND_SEISMIC, p, 1, y, 1024, 1, false \
    }
#define SEISMIC_WIDER(p, x)                \
    {                                      \
        KIND_SEISMIC, p, 1, 8, x, 1, false \
    }
#define TILES(p, y, x)                  \
    {                                   \
        KIND_TILES, p, 1, y, x, 8, true \
    }
#define CONTIGUOUS(p, x)                      \
    {                                         \
        KIND_CONTIGUOUS, p, 1, 1, x, 1, false \
    }
#define NOTHING                         \
    {                                   \
        KIND_ROWS, 0, 0, 0, 0, 0, false \
    }

ParameterizedTestParameters(predict, tells)
{
    static struct predict_case rows[] = {
        { "BT-IO of 102: 1040 B at 16, 800 B at 25", BLOCKS(16, 102), BLOCKS(25, 102), NOTHING, 0, true, false, 0, 0 },
        { "nor must the array be known: parts differ", BLOCKS(16, 102), BLOCKS(25, 102), BLOCKS(9, 102), 300, false,
          false, 0, 0 },
        { "a larger cube", BLOCKS(4, 12), BLOCKS(9, 24), NOTHING, 0, true, true, 0, 0 },
        { "fewer processes", BLOCKS(16, 24), BLOCKS(4, 24), NOTHING, 0, true, false, 0, 0 },
        { "many processes", BLOCKS(400, 40), BLOCKS(1600, 40), BLOCKS(100, 40), 300, false, false, 0, 0 },
        { "no square", BLOCKS(16, 24), BLOCKS(8, 24), NOTHING, 0, true, false, -EDOM, PREDICT_SEVERAL },
        { "cells of BT-IO", CELLS(16, 102), CELLS(25, 102), NOTHING, 0, true, false, 0, 0 },
        { "fewer cells", CELLS(16, 30), CELLS(9, 30), NOTHING, 0, true, false, 0, 0 },
        { "cells of a larger cube", CELLS(9, 12), CELLS(16, 20), NOTHING, 0, true, true, 0, 0 },
        { "two layers go both ways", CELLS(4, 12), CELLS(16, 12), NOTHING, 0, true, false, -EDOM, PREDICT_NONE },
        { "as many cells in more", CELLS(4, 12), CELLS(4, 24), NOTHING, 0, true, true, 0, 0 },
        { "cells of an array nobody knows", CELLS(9, 12), CELLS(16, 12), NOTHING, 0, false, false, -EDOM,
          PREDICT_IRREGULAR },
        { "more cells than planes", CELLS(9, 5), CELLS(36, 5), NOTHING, 0, true, false, -EDOM, PREDICT_NONE },
        { "columns, the array is known", COLUMNS(4, 30, 64), COLUMNS(8, 30, 64), NOTHING, 0, true, false, 0, 0 },
        { "not known: longer, or more?", COLUMNS(4, 30, 64), COLUMNS(8, 30, 64), NOTHING, 0, false, false, -EDOM,
          PREDICT_SEVERAL },
        { "a second trace tells", COLUMNS(4, 30, 64), COLUMNS(8, 30, 64), COLUMNS(2, 30, 64), 8, false, false, 0, 0 },
        { "longer rows", COLUMNS(4, 30, 64), COLUMNS(4, 30, 128), COLUMNS(4, 30, 96), 8, false, false, 0, 0 },
        { "more rows", COLUMNS(4, 30, 64), COLUMNS(4, 90, 64), COLUMNS(2, 70, 64), 0, false, false, 0, 0 },
        { "rows of each", ROWS(4, 32, 10), ROWS(6, 32, 10), NOTHING, 0, true, false, 0, 0 },
        { "more rows of each", ROWS(4, 32, 10), ROWS(3, 64, 10), ROWS(2, 36, 10), 40, false, false, 0, 0 },
        { "an image, row by row", CYCLIC(4, 64, 10), CYCLIC(6, 64, 10), CYCLIC(3, 64, 10), 10, false, false, 0, 0 },
        { "an image, its size is known", CYCLIC(4, 64, 10), CYCLIC(6, 64, 10), NOTHING, 0, true, false, 0, 0 },
        { "more records", SEISMIC(4, 8), SEISMIC(4, 24), SEISMIC(2, 20), 0, false, false, 0, 0 },
        { "more records of more", SEISMIC(4, 8), SEISMIC(8, 6), SEISMIC(2, 20), 0, false, false, 0, 0 },
        { "longer records", SEISMIC(4, 8), SEISMIC_WIDER(8, 512), SEISMIC_WIDER(2, 4096), 0, false, false, 0, 0 },
        { "which?", SEISMIC(4, 8), SEISMIC(4, 24), NOTHING, 0, false, false, -EDOM, PREDICT_SEVERAL },
        { "tiles", TILES(4, 64, 128), TILES(9, 64, 128), NOTHING, 0, true, true, 0, 0 },
        { "larger tiles", TILES(4, 64, 128), TILES(16, 70, 100), NOTHING, 0, true, true, 0, 0 },
        { "a part for each", CONTIGUOUS(4, 1 << 20), CONTIGUOUS(16, 1 << 20), NOTHING, 0, false, false, 0, 0 },
        { "a larger part for each", CONTIGUOUS(4, 1 << 20), CONTIGUOUS(6, 3 << 20), NOTHING, 0, false, false, 0, 0 },
        { "another program", COLUMNS(4, 30, 64), COLUMNS(8, 30, 64), ROWS(2, 30, 64), 0, false, false, -EDOM,
          PREDICT_ALSO },
        { "one process", ROWS(1, 32, 10), ROWS(4, 32, 10), NOTHING, 0, true, false, -EDOM, PREDICT_FEW },
    };

    return cr_make_param_array(struct predict_case, rows, ARRAY_SIZE(rows));
}

ParameterizedTest(struct predict_case *row, predict, tells)
{
    const struct run_of *also = row->also.ranks > 0 ? &row->also : NULL;
    struct predict_why why;
    bool same, rounded;
    int r = foretell(&row->from, &row->to, also, row->n_also, row->knows_array, row->knows_new_array, &why, &same,
                     &rounded);

    cr_expect_eq(r, row->r, "%s: %d, failure %d", row->why, r, (int) why.failure);
    if (r == 0 && row->r == 0)
        cr_expect(same, "%s: other accesses", row->why);
    else if (r == row->r)
        cr_expect_eq(why.failure, row->failure, "%s: failure %d", row->why, (int) why.failure);
}

/* -- accesses that were cut -- */

/* Cuts accesses into pieces of len and what is left, those of one rank each after the other. */
static struct touches cut(const struct touches *touches, uint64_t len)
{
    struct touches pieces = { .n_ranks = touches->n_ranks, .first = calloc(touches->n_ranks, sizeof(size_t)) };

    for (size_t i = 0; i < touches->n; i++)
        for (uint64_t at = touches->touch[i].off; at < touches->touch[i].end; at += len) {
            cr_assert(array_grow(pieces.touch, pieces.n));
            pieces.touch[pieces.n] = touches->touch[i];
            pieces.touch[pieces.n].off = at;
            pieces.touch[pieces.n++].end = MIN(at + len, touches->touch[i].end);
        }
    pieces.end = touches->end;
    for (size_t i = pieces.n; i-- > 0;)
        pieces.first[pieces.touch[i].rank] = i;
    return pieces;
}

Test(predict, joins_what_was_cut)
{
    static const struct run_of from = COLUMNS(4, 20, 4000), to = COLUMNS(8, 20, 4000), also = COLUMNS(2, 20, 4000);
    struct touches whole = touches_of(&from), want = touches_of(&to), second = touches_of(&also);
    struct touches pieces = cut(&whole, 3000), short_one = cut(&second, 3000);
    struct predicting predicting = {
        .touches = &pieces, .procs = 8, .also = &short_one, .also_size = second.end, .growth = GROWTHS
    };
    struct prediction prediction;
    struct predict_why why;

    short_one.n = 31; /* in the midst of one that was cut */
    short_one.end = 0;
    for (size_t i = 0; i < short_one.n; i++)
        short_one.end = MAX(short_one.end, short_one.touch[i].end);
    cr_assert_eq(prediction_init(&prediction, &predicting, &why), 0, "failure %d", (int) why.failure);
    cr_expect(is_same(&prediction.touches, &want));
    prediction_done(&prediction);
    touches_done(&whole);
    touches_done(&want);
    touches_done(&second);
    touches_done(&pieces);
    touches_done(&short_one);
}

/* -- any program -- */

static struct run_of random_run(struct rng *rng, enum kind kind, bool in_turn)
{
    static const uint32_t square[] = { 4, 9, 16, 25 };
    bool is_square = kind == KIND_BLOCKS || kind == KIND_TILES || kind == KIND_CELLS;
    uint32_t ranks = is_square ? square[rng_below(rng, ARRAY_SIZE(square))] : (uint32_t) rng_between(rng, 2, 12);

    return (struct run_of){ kind,
                            ranks,
                            kind == KIND_CELLS ? rng_between(rng, 5, 9) : rng_between(rng, 2, 4),
                            13 + rng_below(rng, 24),
                            13 + rng_below(rng, 24),
                            rng_between(rng, 1, 40),
                            in_turn };
}

/* An answer is what the program does, or a rounding that nobody could know; and mostly there is one. */
Test(predict, never_tells_what_is_not)
{
    unsigned n = 0, told = 0;

    for (struct rng rng = rng_from_env(3000); rng_next(&rng); n++) {
        enum kind kind = (enum kind) rng_below(&rng, KINDS);
        bool in_turn = rng_chance(&rng, 50), knows_array, same, rounded;
        struct run_of from = random_run(&rng, kind, in_turn), to = random_run(&rng, kind, in_turn),
                      also = random_run(&rng, kind, in_turn);
        struct predict_why why;
        size_t n_also;
        int r;

        to.z = also.z = from.z;
        to.elem = also.elem = from.elem;
        if (kind != KIND_BLOCKS && kind != KIND_CELLS && rng_chance(&rng, 50))
            to.x = also.x = from.x;
        else
            to.y = also.y = from.y; /* what grows is the first dimension, or the last */
        knows_array = kind == KIND_CELLS || (kind != KIND_SEISMIC && kind != KIND_CONTIGUOUS && rng_chance(&rng, 50));
        n_also = rng_chance(&rng, 50) ? 0 : rng_between(&rng, 4, 500);
        r = foretell(&from, &to, knows_array ? NULL : &also, n_also, knows_array, knows_array, &why, &same, &rounded);
        cr_assert(r == 0 || r == -EDOM, RNG_SEED ": %d", rng.seed, r);
        cr_assert(r < 0 || same || rounded,
                  RNG_SEED ": kind %d, %" PRIu32 " to %" PRIu32 " ranks, %" PRIu64 " x %" PRIu64 " to %" PRIu64
                           " x %" PRIu64 ", array %d; by %" PRIu32 " ranks, %" PRIu64 " x %" PRIu64,
                  rng.seed, (int) kind, from.ranks, to.ranks, from.y, from.x, to.y, to.x, knows_array, also.ranks,
                  also.y, also.x);
        told += r == 0 && same;
    }
    cr_log_info("%u of %u told", told, n);
    cr_expect(n < 100 || told * 2 > n, "%u of %u", told, n);
}
