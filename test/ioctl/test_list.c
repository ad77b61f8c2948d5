/* SPDX-License-Identifier: MIT */
/* Lists of pieces, and sets of FALLS as tiles, against a look at every byte. */
#include "ioctl/request.h"
#include "ioctl/tile.h"
#include "layout/layout.h"
#include "test/support/rng.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <string.h>

#define MAX_PIECES 40
#define MAX_BYTES  4096
#define SHARDS     4

/* What a request says, and where its bytes are. */
struct row {
    struct fallsfs_ioc_piece piece[MAX_PIECES];
    uint64_t n, disp, extent, skip, bytes;
    uint64_t at[MAX_BYTES]; /* of the file, each byte of the request */
};

static const struct payer nobody;

static struct list_source source_of(const struct row *row)
{
    return (struct list_source){ .at = (const uint8_t *) row->piece, .n = row->n };
}

static uint64_t tile_size(const struct row *row)
{
    uint64_t size = 0;

    for (uint64_t i = 0; i < row->n; i++)
        size += row->piece[i].len;
    return size;
}

/* Byte by byte, from the first tile on. */
static void look_at_every_byte(struct row *row)
{
    uint64_t k = 0;

    for (uint64_t tile = 0; k < row->skip + row->bytes; tile++)
        for (uint64_t i = 0; i < row->n; i++)
            for (uint64_t b = 0; b < row->piece[i].len && k < row->skip + row->bytes; b++, k++)
                if (k >= row->skip)
                    row->at[k - row->skip] = row->disp + tile * row->extent + row->piece[i].off + b;
}

static void random_row(struct row *row, struct rng *rng)
{
    uint64_t end = rng_chance(rng, 50) ? 0 : rng_below(rng, 50), span, size;

    *row = (struct row){ .n = rng_between(rng, 1, MAX_PIECES), .disp = rng_chance(rng, 30) ? 0 : rng_below(rng, 1000) };
    for (uint64_t i = 0; i < row->n; i++) {
        row->piece[i].off = end + (rng_chance(rng, 20) ? 0 : rng_below(rng, 12));
        row->piece[i].len = rng_between(rng, 1, rng_chance(rng, 20) ? 40 : 4);
        end = row->piece[i].off + row->piece[i].len;
    }
    span = end - row->piece[0].off;
    size = tile_size(row);
    if (rng_chance(rng, 70))
        row->extent = span + (rng_chance(rng, 30) ? 0 : rng_below(rng, 30));
    row->skip = rng_chance(rng, 30) ? 0 : rng_below(rng, row->extent > 0 ? 3 * size : size);
    row->bytes =
        row->extent > 0 ? rng_between(rng, 1, MIN(4 * size, MAX_BYTES)) : rng_between(rng, 1, size - row->skip);
    look_at_every_byte(row);
}

static char *text_of(const struct row *row)
{
    static char text[2048];
    size_t at =
        (size_t) snprintf(text, sizeof text, "disp %" PRIu64 " extent %" PRIu64 " skip %" PRIu64 " bytes %" PRIu64,
                          row->disp, row->extent, row->skip, row->bytes);

    for (uint64_t i = 0; i < row->n && at < sizeof text; i++)
        at += (size_t) snprintf(text + at, sizeof text - at, " (%llu,%llu)", row->piece[i].off, row->piece[i].len);
    return text;
}

/* -- the same questions of nests and lists -- */

static uint64_t members_before(const struct row *row, uint64_t x)
{
    uint64_t n = 0;

    while (n < row->bytes && row->at[n] < x)
        n++;
    return n;
}

static void check_places(const struct row *row, const struct asked *asked, uint64_t seed)
{
    uint64_t end = row->at[row->bytes - 1] + 3, byte;

    cr_assert_eq(asked_size(asked), row->bytes, RNG_SEED " %s", seed, text_of(row));
    for (uint64_t x = 0; x < end; x++) {
        uint64_t rank = members_before(row, x);

        cr_assert_eq(asked_rank(asked, x), rank, RNG_SEED " x=%" PRIu64 " %s", seed, x, text_of(row));
        cr_assert_eq(asked_next(asked, x, &byte), rank < row->bytes, RNG_SEED " %s", seed, text_of(row));
        cr_assert(rank == row->bytes || byte == row->at[rank], RNG_SEED " %s", seed, text_of(row));
    }
    cr_assert_eq(asked_rank(asked, UINT64_MAX), row->bytes);
    for (uint64_t k = 0; k < row->bytes; k++) {
        uint64_t len = 0;

        cr_assert_eq(asked_select_run(asked, k, &len), row->at[k], RNG_SEED " k=%" PRIu64 " %s", seed, k, text_of(row));
        cr_assert(len > 0 && k + len <= row->bytes && row->at[k + len - 1] == row->at[k] + len - 1,
                  RNG_SEED " k=%" PRIu64 " len=%" PRIu64 " %s", seed, k, len, text_of(row));
        cr_assert(asked_prev(asked, row->at[k], &byte) && byte == row->at[k]);
    }
}

struct runs {
    const struct row *row;
    uint64_t lo, hi, next; /* member that comes next */
    bool wrong;
};

static void note_run(void *arg, uint64_t file_off, uint64_t len)
{
    struct runs *runs = arg;

    for (uint64_t i = 0; i < len; i++, runs->next++)
        runs->wrong |= runs->next >= runs->row->bytes || runs->row->at[runs->next] != file_off + i ||
                       file_off + i < runs->lo || file_off + i >= runs->hi;
}

static void check_moves(const struct row *row, const struct asked *asked, struct rng *rng)
{
    static uint8_t spread[16384], packed[MAX_BYTES + 1], again[16384];
    uint64_t end = row->at[row->bytes - 1] + 2;
    uint64_t lo = rng_below(rng, end), hi = rng_between(rng, lo, end);
    uint64_t first = members_before(row, lo), n = members_before(row, hi) - first;

    cr_assert_leq(end, sizeof spread);
    for (uint64_t x = lo; x < hi; x++)
        spread[x - lo] = (uint8_t) rng_u64(rng);
    memset(packed, 0xEE, sizeof packed);
    cr_assert_eq(asked_gather(asked, lo, hi, spread, packed), n, RNG_SEED " %s", rng->seed, text_of(row));
    for (uint64_t k = 0; k < n; k++)
        cr_assert_eq(packed[k], spread[row->at[first + k] - lo], RNG_SEED " %s", rng->seed, text_of(row));
    cr_assert_eq(packed[n], 0xEE, RNG_SEED " more than its bytes were gathered: %s", rng->seed, text_of(row));

    memcpy(again, spread, hi - lo);
    for (uint64_t k = 0; k < n; k++)
        packed[k] = again[row->at[first + k] - lo] = (uint8_t) rng_u64(rng);
    cr_assert_eq(asked_scatter(asked, lo, hi, spread, packed), n);
    cr_assert_arr_eq(spread, again, hi - lo, RNG_SEED " [%" PRIu64 ", %" PRIu64 ") %s", rng->seed, lo, hi,
                     text_of(row));
}

static void check_runs(const struct row *row, const struct list *list, struct rng *rng)
{
    uint64_t lo = rng_below(rng, row->at[row->bytes - 1] + 2), hi = lo + rng_below(rng, 300);
    struct runs runs = { .row = row, .lo = lo, .hi = hi, .next = members_before(row, lo) };

    list_each_run(list, lo, hi, note_run, &runs);
    cr_assert(!runs.wrong && runs.next == members_before(row, hi), RNG_SEED " %s", rng->seed, text_of(row));
}

ParameterizedTestParameters(list, is_what_its_bytes_are)
{
    static uint64_t shard[SHARDS] = { 0, 1, 2, 3 };

    return cr_make_param_array(uint64_t, shard, SHARDS);
}

ParameterizedTest(uint64_t *shard, list, is_what_its_bytes_are)
{
    static struct row row;

    for (struct rng rng = rng_shard_from_env(4000, *shard, SHARDS); rng_next(&rng);) {
        struct pieces *pieces = NULL;
        struct list_source from;
        struct list list;
        struct asked asked = { .list = &list };

        random_row(&row, &rng);
        from = source_of(&row);
        cr_assert_eq(pieces_copy(&from, &nobody, &pieces), 0, RNG_SEED " %s", rng.seed, text_of(&row));
        cr_assert_eq(list_init(&list, pieces, row.disp, row.extent, row.skip, row.bytes), 0, RNG_SEED " %s", rng.seed,
                     text_of(&row));
        cr_assert_eq(pieces_are(pieces, &from), 1);
        check_places(&row, &asked, rng.seed);
        for (int i = 0; i < 4; i++) {
            check_moves(&row, &asked, &rng);
            check_runs(&row, &list, &rng);
        }
        pieces_put(pieces);
    }
}

/* The same as a set of FALLS, which the daemon makes another one of. */
Test(tile, is_what_its_bytes_are)
{
    static struct row row;
    static char text[8192];

    for (struct rng rng = rng_from_env(2000); rng_next(&rng);) {
        struct nest *one, *nest = NULL;
        struct layout_error error;
        struct asked asked;
        size_t at = 1;

        random_row(&row, &rng);
        strcpy(text, "{");
        for (uint64_t i = 0; i < row.n; i++)
            at += (size_t) snprintf(text + at, sizeof text - at, "%s(%llu,%llu,%llu,1)", i > 0 ? "," : "",
                                    row.piece[i].off, row.piece[i].off + row.piece[i].len - 1, row.piece[i].len);
        text[at++] = '}';
        cr_assert_eq(nest_parse(text, at, &one, &error), 0, "%.*s", (int) at, text);
        cr_assert_eq(nest_tile(one, row.extent, row.skip, row.bytes, &nest), 0, RNG_SEED " %s", rng.seed,
                     text_of(&row));
        cr_assert_eq(nest_shift(nest, row.disp), 0);
        asked = (struct asked){ .nest = nest };
        check_places(&row, &asked, rng.seed);
        check_moves(&row, &asked, &rng);
        nest_free(nest);
        nest_free(one);
    }
}

/* -- what is none -- */

#define FAR (UINT64_C(1) << 62)

struct wrong_case {
    char why[40];
    uint64_t n;
    struct fallsfs_ioc_piece piece[3];
    uint64_t disp, extent, skip, bytes;
    int want;
};

ParameterizedTestParameters(list, none)
{
    static struct wrong_case rows[] = {
        { "a piece", 1, { { 0, 4 } }, 0, 0, 0, 4, 0 },
        { "pieces that touch", 2, { { 0, 4 }, { 4, 4 } }, 0, 0, 0, 8, 0 },
        { "an empty piece", 2, { { 0, 4 }, { 4, 0 } }, 0, 0, 0, 4, -EINVAL },
        { "an empty first piece", 1, { { 0, 0 } }, 0, 0, 0, 1, -EINVAL },
        { "overlap", 2, { { 0, 4 }, { 3, 4 } }, 0, 0, 0, 8, -EINVAL },
        { "the same twice", 2, { { 0, 4 }, { 0, 4 } }, 0, 0, 0, 8, -EINVAL },
        { "descending", 2, { { 8, 4 }, { 0, 4 } }, 0, 0, 0, 8, -EINVAL },
        { "tiles that touch", 1, { { 5, 4 } }, 0, 4, 0, 8, 0 },
        { "tiles that interleave", 2, { { 0, 1 }, { 8, 1 } }, 0, 8, 0, 4, -EINVAL },
        { "more than a single tile has", 1, { { 0, 4 } }, 0, 0, 1, 4, -EINVAL },
        { "far away", 1, { { FAR, 1 } }, 0, 0, 0, 1, -EOVERFLOW },
        { "long", 1, { { 1, FAR } }, 0, 0, 0, 1, -EOVERFLOW },
        { "as long as may be", 1, { { 0, FAR } }, 0, 0, 0, 1, 0 },
        { "a length that wraps", 2, { { 8, UINT64_MAX - 4 }, { 9, 1 } }, 0, 0, 0, 1, -EOVERFLOW },
        { "displaced too far", 1, { { 0, 4 } }, FAR - 3, 0, 0, 4, -EOVERFLOW },
        { "displaced around", 1, { { 8, 4 } }, UINT64_MAX - 3, 0, 0, 4, -EOVERFLOW },
        { "too many tiles", 1, { { 0, 1 } }, 0, FAR, 0, 3, -EOVERFLOW },
        { "tiles around", 1, { { 0, 1 } }, 0, UINT64_MAX, 0, 3, -EOVERFLOW },
        { "skip around", 1, { { 0, 1 } }, 0, 1, UINT64_MAX, 2, -EOVERFLOW },
    };

    return cr_make_param_array(struct wrong_case, rows, ARRAY_SIZE(rows));
}

ParameterizedTest(struct wrong_case *row, list, none)
{
    const struct list_source from = { .at = (const uint8_t *) row->piece, .n = row->n };
    struct pieces *pieces = NULL;
    struct list list;
    int r = pieces_copy(&from, &nobody, &pieces);

    cr_assert((r == 0) == (pieces != NULL));
    if (r == 0)
        r = list_init(&list, pieces, row->disp, row->extent, row->skip, row->bytes);
    cr_expect_eq(r, row->want, "%s: %d", row->why, r);
    pieces_put(pieces);
}

/* -- who pays -- */

struct purse {
    uint64_t room, charged;
};

static int charge(void *ctx, uint32_t uid, uint64_t bytes)
{
    struct purse *purse = ctx;

    cr_assert_eq(uid, 1000);
    if (bytes > purse->room - purse->charged)
        return -EUSERS;
    purse->charged += bytes;
    return 0;
}

static void discharge(void *ctx, uint32_t uid, uint64_t bytes)
{
    struct purse *purse = ctx;

    cr_assert_eq(uid, 1000);
    cr_assert_leq(bytes, purse->charged);
    purse->charged -= bytes;
}

static struct fallsfs_ioc_list request_of(const struct row *row, uint64_t id)
{
    return (struct fallsfs_ioc_list){
        .disp = row->disp, .n = row->n, .list_id = id, .extent = row->extent, .skip = row->skip, .bytes = row->bytes
    };
}

/* Sixteen bytes a piece, those that touch being one, as long as somebody has it; nothing when it is none. */
Test(list, is_paid_for)
{
    struct purse purse = { .room = 200 };
    const struct payer payer = { charge, discharge, &purse, 1000 };
    struct row row = { .n = 3, .piece = { { 0, 4 }, { 4, 4 }, { 20, 1 } }, .bytes = 9 };
    struct list_source from = source_of(&row);
    struct pieces *pieces, *others;

    cr_assert_eq(pieces_copy(&from, &payer, &pieces), 0);
    cr_expect_eq(pieces->n, 2u);
    cr_expect_eq(purse.charged, sizeof *pieces + 3 * sizeof(struct list_piece));
    (void) pieces_ref(pieces);
    pieces_put(pieces);
    cr_expect_eq(pieces_copy(&from, &payer, &others), -EUSERS);
    row.piece[2].len = 0;
    purse.room = 4096;
    cr_expect_eq(pieces_copy(&from, &payer, &others), -EINVAL);
    cr_expect_eq(purse.charged, sizeof *pieces + 3 * sizeof(struct list_piece));
    pieces_put(pieces);
    cr_expect_eq(purse.charged, 0u);
    from.n = LIST_MAX_PIECES + 1;
    cr_expect_eq(pieces_copy(&from, &payer, &others), -E2BIG);
}

/* -- memory that others change -- */

struct meddler {
    struct row *row;
    uint64_t calls;
    int result;
};

/* Whoever shares the memory writes there between two looks. */
static int meddle(void *memory, const uint8_t *at, uint64_t len, bool missed)
{
    struct meddler *meddler = memory;

    cr_assert(!missed && at == (const uint8_t *) meddler->row->piece &&
              len == meddler->row->n * sizeof(struct fallsfs_ioc_piece));
    meddler->calls++;
    return meddler->result;
}

static uint64_t n_looks;

static int look(void *memory, const uint8_t *at, uint64_t len, bool missed)
{
    cr_assert(memory == NULL && at != NULL && len > 0 && !missed);
    n_looks++;
    return 0;
}

/* Asks for the first byte of a list that has that id; how often the list is looked at for it. */
static uint64_t looks_for(struct wanted_cache *cache, const struct list_source *from, const struct payer *payer,
                          uint64_t id)
{
    const struct fallsfs_ioc_list request = { .n = from->n, .list_id = id, .bytes = 1 };
    struct wanted *wanted;
    uint64_t before = n_looks;

    cr_assert_eq(wanted_list(cache, &request, from, payer, &wanted), 0);
    wanted_put(wanted);
    return n_looks - before;
}

/* Of lists that are long, the last one is remembered, besides four short ones; the others are paid for no longer. */
Test(list, that_is_long_is_remembered)
{
    const uint64_t n = 300000;
    struct fallsfs_ioc_piece *piece = malloc(n * sizeof *piece);
    const struct list_source all = { (const uint8_t *) piece, n, look, NULL }, few = { all.at, 3, look, NULL };
    struct purse purse = { .room = UINT64_MAX };
    const struct payer payer = { charge, discharge, &purse, 1000 };
    struct wanted_cache cache;
    uint64_t charged;

    cr_assert_not_null(piece);
    for (uint64_t i = 0; i < n; i++)
        piece[i] = (struct fallsfs_ioc_piece){ 2 * i, 1 };
    wanted_cache_init(&cache, NULL);
    cr_expect_gt(looks_for(&cache, &all, &payer, 1), 0u);
    cr_assert_gt(purse.charged, (uint64_t) WANTED_REMEMBERED_BYTES);
    charged = purse.charged;
    for (uint64_t id = 2; id < 6; id++)
        cr_expect_eq(looks_for(&cache, &few, &payer, id), 1u);
    cr_expect_eq(looks_for(&cache, &all, &payer, 1), 0u);
    cr_expect_gt(looks_for(&cache, &all, &payer, 9), 0u);
    for (uint64_t id = 2; id < 6; id++)
        cr_expect_eq(looks_for(&cache, &few, &payer, id), 0u);
    cr_expect_gt(looks_for(&cache, &all, &payer, 1), 0u);
    cr_expect_lt(purse.charged, charged + 4096);
    wanted_cache_forget_lists(&cache);
    cr_expect_eq(purse.charged, 0u);
    wanted_cache_done(&cache);
    free(piece);
}

/* It is looked at once for each request; what was taken stays what it was. */
Test(list, that_is_changed_is_another_one)
{
    struct row row = { .n = 2, .piece = { { 0, 4 }, { 8, 4 } }, .bytes = 8 };
    struct meddler meddler = { .row = &row };
    const struct list_source from = { (const uint8_t *) row.piece, row.n, meddle, &meddler };
    struct fallsfs_ioc_list request = request_of(&row, 0), named = request_of(&row, 7);
    struct wanted *first, *same, *other, *by_id;
    struct wanted_cache cache;
    uint64_t calls;

    wanted_cache_init(&cache, NULL);
    cr_assert_eq(wanted_list(&cache, &request, &from, &nobody, &first), 0);
    cr_expect_eq(meddler.calls, 1u);
    cr_assert_eq(wanted_list(&cache, &request, &from, &nobody, &same), 0);
    cr_expect(wanted_equal(first, same) && first->pieces == same->pieces);
    cr_assert_eq(wanted_list(&cache, &named, &from, &nobody, &by_id), 0);
    cr_expect(wanted_equal(first, by_id));
    row.piece[1].off = 9;
    cr_assert_eq(wanted_list(&cache, &request, &from, &nobody, &other), 0);
    cr_expect(!wanted_equal(first, other));
    cr_expect_eq(first->pieces->piece[1].off, 8u);
    cr_expect_eq(other->pieces->piece[1].off, 9u);
    wanted_put(other);

    calls = meddler.calls; /* by its id it is not even looked at */
    cr_assert_eq(wanted_list(&cache, &named, &from, &nobody, &other), 0);
    cr_expect(other->pieces == by_id->pieces && meddler.calls == calls);
    wanted_put(other);
    named.skip = 1;
    named.bytes = 7;
    cr_assert_eq(wanted_list(&cache, &named, &from, &nobody, &other), 0);
    cr_expect(!wanted_equal(by_id, other) && other->pieces == by_id->pieces);
    wanted_put(other);
    named.bytes = 0; /* nothing of a list is no list */
    cr_assert_eq(wanted_list(&cache, &named, NULL, NULL, &other), 0);
    cr_expect(wanted_size(other) == 0 && !wanted_equal(by_id, other));
    wanted_put(other);

    meddler.result = -EFAULT;
    cr_expect_eq(wanted_list(&cache, &request, &from, &nobody, &other), -EFAULT);
    wanted_cache_forget_lists(&cache);
    cr_expect_eq(wanted_list(&cache, &request, &from, &nobody, &other), -EFAULT);
    wanted_put(first);
    wanted_put(same);
    wanted_put(by_id);
    wanted_cache_done(&cache);
}

/* Long lists are looked at part by part: a piece that crosses from part to part is one all the same. */
Test(list, longer_than_a_look)
{
    const uint64_t n = 5000;
    struct fallsfs_ioc_piece *piece = calloc(n, sizeof *piece);
    const struct list_source from = { .at = (const uint8_t *) piece, .n = n };
    struct pieces *pieces;
    struct list list;

    cr_assert_not_null(piece);
    for (uint64_t i = 0; i < n; i++)
        piece[i] = (struct fallsfs_ioc_piece){ i / 1500 * 100000 + i * 8, 8 };
    cr_assert_eq(pieces_copy(&from, &nobody, &pieces), 0);
    cr_expect_eq(pieces->n, 4u);
    cr_expect_eq(pieces_are(pieces, &from), 1);
    cr_assert_eq(list_init(&list, pieces, 0, 0, 0, 8 * n), 0);
    cr_expect_eq(list_rank(&list, 200000 + 3001 * 8 + 1), 3001 * 8 + 1u);
    piece[4999].len = 7;
    cr_expect_eq(pieces_are(pieces, &from), 0);
    piece[4999] = (struct fallsfs_ioc_piece){ 0, 8 };
    cr_expect_eq(pieces_are(pieces, &from), 0);
    pieces_put(pieces);
    cr_expect_eq(pieces_copy(&from, &nobody, &pieces), -EINVAL);
    free(piece);
}
