/* SPDX-License-Identifier: MIT */
/* Tests of what measurements rest on: sections against a look at every element, and that no wrong byte goes unseen. */
#include "ioctl/client/bench/content.h"
#include "ioctl/client/bench/method.h"
#include "ioctl/client/bench/paper.h"
#include "ioctl/client/bench/pieces.h"
#include "ioctl/client/bench/trial.h"
#include "layout/base.h"
#include "test/support/rng.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* -- the notation -- */

struct deal_case {
    char text[64];
    uint32_t rank, nranks;
    struct fallsfs_range want[2]; /* of a 1000 x 1000 array */
};

ParameterizedTestParameters(deal, means)
{
    static struct deal_case rows[] = {
        { "(1:100:1,1:100:1)", 3, 4, { { 0, 99, 1 }, { 0, 99, 1 } } },
        { "(1+250p:250+250p:2,1:16)", 2, 4, { { 500, 749, 2 }, { 0, 15, 1 } } },
        { "(p+1:1000:P,p+1:999:P)", 3, 8, { { 3, 999, 8 }, { 3, 998, 8 } } },
        { "(1+400p:400+400p:1,500:2500:3)", 2, 4, { { 800, 999, 1 }, { 499, 999, 3 } } }, /* cut off */
        { "(1+400p:400+400p:1,1:1)", 3, 4, { { 1, 0, 1 }, { 0, 0, 1 } } },                /* nothing is left */
    };

    return cr_make_param_array(struct deal_case, rows, ARRAY_SIZE(rows));
}

ParameterizedTest(struct deal_case *row, deal, means)
{
    struct fallsfs_array array = { 2, FALLSFS_COLUMN_MAJOR, 4, 0, { 1000, 1000 } };
    struct fallsfs_range got[FALLSFS_MAX_DIMS];
    struct deal deal;
    const char *bad;

    cr_assert_eq(deal_parse(row->text, &deal, &bad), 0, "%s", row->text);
    cr_assert_eq(deal.ndims, 2u);
    deal_section(&deal, &array, row->rank, row->nranks, got);
    for (int d = 0; d < 2; d++) {
        cr_expect_eq(got[d].lower, row->want[d].lower, "%s", row->text);
        cr_expect_eq(got[d].upper, row->want[d].upper, "%s", row->text);
        cr_expect_eq(got[d].stride, row->want[d].stride, "%s", row->text);
    }
}

struct bad_case {
    char text[64];
    ptrdiff_t at;
};

ParameterizedTestParameters(deal, refuses)
{
    static struct bad_case rows[] = {
        { "", 0 },          { "1:2", 0 },
        { "(", 1 },         { "(1)", 2 },
        { "(1:2", 4 },      { "(1:2:)", 5 },
        { "(1:2:0)", 6 },   { "(p:9)", 2 },
        { "(1:2)x", 5 },    { "(1+:2)", 3 },
        { "(1:2:3:4)", 6 }, { "(-1:2)", 1 },
        { "(1:9:p)", 6 },   { "(9999999999999:1)", 13 },
    };

    return cr_make_param_array(struct bad_case, rows, ARRAY_SIZE(rows));
}

ParameterizedTest(struct bad_case *row, deal, refuses)
{
    struct deal deal;
    const char *bad = NULL;

    cr_assert_eq(deal_parse(row->text, &deal, &bad), -EINVAL, "%s", row->text);
    cr_expect_eq(bad - row->text, row->at, "%s: at %td", row->text, bad - row->text);
}

Test(deal, has_no_more_dimensions_than_an_array)
{
    char text[256] = "(1:1";
    struct deal deal;
    const char *bad;

    for (int d = 1; d < FALLSFS_MAX_DIMS; d++)
        strcat(text, ",1:1");
    strcat(text, ")");
    cr_expect_eq(deal_parse(text, &deal, &bad), 0);
    text[strlen(text) - 1] = 0;
    strcat(text, ",1:1)");
    cr_expect_eq(deal_parse(text, &deal, &bad), -EINVAL);
}

/* -- the tables -- */

static const struct paper_case *paper_case(const char *name)
{
    for (size_t i = 0; i < paper_n_cases; i++)
        if (paper_is_named(&paper_cases[i], name))
            return &paper_cases[i];
    cr_assert_fail("there is no %s", name);
    return NULL;
}

static void section_of(const char *name, uint32_t rank, uint32_t nranks, struct fallsfs_array *ret_array,
                       struct fallsfs_range ret_section[])
{
    const struct paper_case *c = paper_case(name);
    struct deal deal;
    const char *bad;

    *ret_array = paper_array(c);
    cr_assert_eq(deal_parse(c->section, &deal, &bad), 0, "%s: %s", name, c->section);
    deal_section(&deal, ret_array, rank, nranks, ret_section);
}

Test(paper, all_cases_can_be_read)
{
    for (size_t i = 0; i < paper_n_cases; i++) {
        struct deal deal;
        const char *bad;

        cr_assert_eq(deal_parse(paper_cases[i].section, &deal, &bad), 0, "%s", paper_cases[i].section);
        cr_expect_eq(deal.ndims, 2u);
    }
}

/* The pieces and bytes of process 1 of 16, as others have counted them. */
Test(paper, sections_have_the_pieces_that_are_known)
{
    static const struct {
        const char *name;
        uint64_t pieces, bytes;
    } known[] = { { "1/I", 100, 40000 },         { "1/VI", 1, 262144 },    { "2/VII", 4096, 262144 },
                  { "3/III", 513, 412452 },      { "5/I", 65536, 262144 }, { "6/II", 15625, 62500 },
                  { "5/III", 27889, 4 * 27889 }, { "8/IV", 8, 8 * 16004 } };

    for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
        struct fallsfs_range section[FALLSFS_MAX_DIMS];
        struct fallsfs_array array;

        section_of(known[i].name, 1, 16, &array, section);
        cr_expect_eq(pieces_bytes(&array, section), known[i].bytes, "%s", known[i].name);
        cr_expect_eq(pieces_count(&array, section), known[i].pieces, "%s", known[i].name);
    }
}

/* -- pieces -- */

#define MOST_ELEMENTS 1296 /* 6 in each of 4 dimensions */

static bool is_in(const struct fallsfs_array *array, const struct fallsfs_range section[], uint64_t index)
{
    for (uint32_t pace = 0; pace < array->ndims; pace++) {
        uint32_t d = array->order == FALLSFS_COLUMN_MAJOR ? pace : array->ndims - 1 - pace;
        uint64_t i = index % array->size[d];

        index /= array->size[d];
        if (i < section[d].lower || i > section[d].upper || (i - section[d].lower) % section[d].stride != 0)
            return false;
    }
    return true;
}

static void random_section(struct rng *rng, struct fallsfs_array *array, struct fallsfs_range section[])
{
    *array = (struct fallsfs_array){ .ndims = (uint32_t) rng_between(rng, 1, 4),
                                     .order = rng_between(rng, 0, 1) == 0 ? FALLSFS_ROW_MAJOR : FALLSFS_COLUMN_MAJOR,
                                     .elem = rng_between(rng, 1, 9),
                                     .header = rng_between(rng, 0, 20) };
    for (uint32_t d = 0; d < array->ndims; d++) {
        array->size[d] = rng_between(rng, 1, 6);
        section[d].lower = rng_between(rng, 0, array->size[d] - 1);
        section[d].upper = rng_between(rng, 0, array->size[d] - 1);
        section[d].stride = rng_between(rng, 1, 4);
        if (rng_between(rng, 0, 2) == 0)
            section[d] = (struct fallsfs_range){ 0, array->size[d] - 1, 1 };
    }
}

Test(pieces, finds_what_a_look_at_every_element_finds)
{
    for (struct rng rng = rng_from_env(3000); rng_next(&rng);) {
        struct fallsfs_range section[FALLSFS_MAX_DIMS];
        struct fallsfs_array array;
        struct pieces pieces;
        struct pieces_line line;
        uint64_t found[MOST_ELEMENTS], n_found = 0, elements = 1, n = 0, n_pieces = 0;

        random_section(&rng, &array, section);
        pieces_init(&pieces, &array, section);
        while (pieces_next(&pieces, &line)) {
            n_pieces += line.n;
            for (uint64_t i = 0; i < line.n; i++)
                for (uint64_t at = 0; at < line.len; at += array.elem)
                    found[n_found++] = line.file_off + i * line.stride + at;
        }
        for (uint32_t d = 0; d < array.ndims; d++)
            elements *= array.size[d];
        for (uint64_t i = 0; i < elements; i++)
            if (is_in(&array, section, i)) {
                cr_assert_lt(n, n_found, "element %" PRIu64 " is missing; " RNG_SEED, i, rng.seed);
                cr_assert_eq(found[n], array.header + i * array.elem, RNG_SEED, rng.seed);
                n++;
            }
        cr_assert_eq(n, n_found, RNG_SEED, rng.seed);
        cr_assert_eq(pieces_bytes(&array, section), n * array.elem, RNG_SEED, rng.seed);
        cr_assert_eq(pieces_count(&array, section), n_pieces, RNG_SEED, rng.seed);
    }
}

Test(pieces, joins_what_is_one_piece)
{
    const struct fallsfs_array array = { 3, FALLSFS_COLUMN_MAJOR, 8, 100, { 10, 10, 10 } };
    const struct fallsfs_range planes[] = { { 0, 9, 1 }, { 0, 9, 1 }, { 2, 4, 1 } };
    const struct fallsfs_range every_other[] = { { 0, 9, 1 }, { 3, 7, 1 }, { 2, 4, 2 } };
    struct pieces pieces;
    struct pieces_line line;

    pieces_init(&pieces, &array, planes);
    cr_assert(pieces_next(&pieces, &line));
    cr_expect_eq(line.len, 3u * 800);
    cr_expect_eq(line.n, 1u);
    pieces_init(&pieces, &array, every_other);
    cr_assert(pieces_next(&pieces, &line));
    cr_expect_eq(line.len, 5u * 80);
    cr_expect_eq(line.stride, 1600u);
    cr_expect_eq(line.n, 2u);
}

/* -- contents -- */

Test(content, is_the_same_whatever_piece_of_it_is_made)
{
    uint8_t whole[64], piece[64];

    content_fill(whole, 0, sizeof whole, 7);
    for (uint64_t from = 0; from < sizeof whole; from++)
        for (uint64_t to = from; to <= sizeof whole; to++) {
            content_fill(piece, from, to - from, 7);
            cr_assert_arr_eq(piece, whole + from, to - from);
        }
    content_fill(piece, 0, sizeof piece, 8);
    cr_expect_arr_neq(piece, whole, sizeof whole);
}

Test(content, every_wrong_byte_of_a_section_is_seen)
{
    struct fallsfs_array array = { 2, FALLSFS_ROW_MAJOR, 3, 5, { 10, 10 } };
    struct fallsfs_range section[] = { { 1, 9, 3 }, { 0, 9, 2 } };
    uint8_t buf[3 * 5 * 3];
    uint64_t last = 0;

    cr_assert_eq(pieces_bytes(&array, section), sizeof buf);
    content_fill_section(buf, &array, section, 2);
    cr_expect_eq(content_check_section(buf, &array, section, 2), UINT64_MAX);
    for (size_t i = 0; i < sizeof buf; i++) {
        uint64_t at;

        buf[i] ^= 1;
        at = content_check_section(buf, &array, section, 2);
        cr_expect(i == 0 ? at == 5 + 30 : at > last && at != UINT64_MAX, "byte %zu: %" PRIu64, i, at);
        last = at;
        buf[i] ^= 1;
    }
}

/* -- contenders, some of whom cheat -- */

static char file[64];

static void make_file(const struct fallsfs_array *array)
{
    int fd;

    snprintf(file, sizeof file, "/tmp/fallsfs-sections.XXXXXX");
    fd = mkstemp(file);
    cr_assert_geq(fd, 0);
    close(fd);
    cr_assert_eq(content_make_file(file, array), 0);
}

static int cheat_open(const struct method_request *request, void **ret_state)
{
    return method_direct.open(request, ret_state);
}

/* Moves the right bytes but for one bit. */
static int flip_move(void *state, const struct method_request *request)
{
    int r = method_direct.move(state, request);

    if (request->rank == 1 && !request->order->write)
        ((uint8_t *) request->buf)[request->bytes / 2] ^= 0x10;
    return r;
}

/* Writes a byte into a hole, beside the first byte of process 1. */
static int scribble_move(void *state, const struct method_request *request)
{
    int r = method_direct.move(state, request), fd;

    memcpy(&fd, state, sizeof fd);
    if (request->rank == 1 && r == 0 && pwrite(fd, "x", 1, 1) != 1)
        return -EIO;
    return r;
}

static int lazy_move(void *state, const struct method_request *request)
{
    return request->rank == 2 ? 0 : method_direct.move(state, request);
}

static int longer_move(void *state, const struct method_request *request)
{
    int r = method_direct.move(state, request), fd;

    memcpy(&fd, state, sizeof fd);
    if (request->rank == 0 && r == 0 && pwrite(fd, "x", 1, (off_t) pieces_file_bytes(&request->order->array)) != 1)
        return -EIO;
    return r;
}

static int refuse_open(const struct method_request *request, void **ret_state)
{
    return request->rank == 2 ? -EACCES : method_direct.open(request, ret_state);
}

static int die_move(void *state, const struct method_request *request)
{
    if (request->rank == 1)
        raise(SIGKILL);
    return method_direct.move(state, request);
}

static void cheat_close(void *state)
{
    method_direct.close(state);
}

static void cheat_tell(void *state, struct fallsfs_ioc_stats *ret_stats)
{
    ret_stats->asked = state != NULL ? 1234 : 0;
}

static const struct method flip = { "flip", cheat_open, flip_move, cheat_close, cheat_tell };
static const struct method scribble = { "scribble", cheat_open, scribble_move, cheat_close, cheat_tell };
static const struct method lazy = { "lazy", cheat_open, lazy_move, cheat_close, cheat_tell };
static const struct method longer = { "longer", cheat_open, longer_move, cheat_close, cheat_tell };
static const struct method refuse = { "refuse", refuse_open, lazy_move, cheat_close, cheat_tell };
static const struct method die = { "die", cheat_open, die_move, cheat_close, cheat_tell };

enum { BOUND, DIRECT, FLIP, SCRIBBLE, LAZY, LONGER, REFUSE, DIE };
static const struct method *const methods[] = { &method_bound, &method_direct, &flip,   &scribble,
                                                &lazy,         &longer,        &refuse, &die };

#define RANKS 4

static void contend(bool write, const uint32_t method[], uint32_t n, struct contender contender[], int want)
{
    const char *const paths[] = { file };
    struct method_set set = { methods, ARRAY_SIZE(methods), paths, 1, malloc, free };
    cleanup(squad_freep) struct squad *squad = NULL;
    struct trial trial = { .array = { 2, FALLSFS_COLUMN_MAJOR, 4, 16, { 64, 64 } },
                           .write = write,
                           .task = 1,
                           .n_rounds = 3,
                           .budget = 10,
                           .contender = contender,
                           .n_contenders = n };
    uint64_t wrong;
    const char *bad;

    make_file(&trial.array);
    cr_assert_eq(deal_parse("(1+p:64:P,1+16p:16+16p:2)", &trial.deal, &bad), 0);
    cr_assert_eq(squad_new(NULL, RANKS, &squad), 0);
    cr_assert_eq(squad_fork(squad, method_member, &set), 0);
    for (uint32_t i = 0; i < n; i++)
        contender[i] = (struct contender){ .squad = squad, .method = method[i], .path = file };
    cr_assert_eq(trial_run(&trial), want);
    if (want == 0) { /* and leaves the file as it was */
        cr_assert_eq(deal_parse("(2:1,1:1)", &trial.deal, &bad), 0);
        cr_expect_eq(content_check_file(file, &trial.array, &trial.deal, 1, 0, &wrong), 0, "byte %" PRIu64, wrong);
    }
    unlink(file);
}

Test(trial, who_is_right_is_timed)
{
    const uint32_t method[] = { BOUND, DIRECT };
    struct contender contender[2];

    for (int write = 0; write < 2; write++) {
        contend(write != 0, method, 2, contender, 0);
        for (int i = 0; i < 2; i++) {
            cr_expect_eq(contender[i].error, 0, "%s", contender[i].why);
            cr_expect_eq(contender[i].n_samples, 3u);
            cr_expect_gt(contender[i].seconds[2], 0);
        }
    }
}

struct cheat {
    uint32_t method;
    bool write;
    int error;
    char why[64];
};

ParameterizedTestParameters(trial, who_cheats_is_found)
{
    static struct cheat rows[] = {
        { FLIP, false, -EIO, "process 1: got a wrong byte" },      { LAZY, false, -EIO, "process 2: got a wrong byte" },
        { SCRIBBLE, true, -EIO, "byte 1 of the file is wrong" },   { LAZY, true, -EIO, "of the file is wrong" },
        { LONGER, true, -EIO, "byte 16400 of the file is wrong" }, { REFUSE, false, -EACCES, "process 2: Permission" },
    };

    return cr_make_param_array(struct cheat, rows, ARRAY_SIZE(rows));
}

ParameterizedTest(struct cheat *row, trial, who_cheats_is_found)
{
    const uint32_t method[] = { DIRECT, row->method };
    struct contender contender[2];

    contend(row->write, method, 2, contender, 0);
    cr_expect_eq(contender[0].error, 0, "%s", contender[0].why);
    cr_expect_eq(contender[1].error, row->error, "%s: %d", contender[1].why, contender[1].error);
    cr_expect_not_null(strstr(contender[1].why, row->why), "%s", contender[1].why);
    cr_expect_eq(contender[1].n_samples, 0u);
}

Test(trial, what_a_method_tells_of_itself_arrives)
{
    const uint32_t method[] = { LAZY, DIRECT };
    struct contender contender[2];

    contend(false, method, 2, contender, 0);
    cr_expect_eq(contender[0].stats.asked, 1234u);
    cr_expect_eq(contender[1].stats.asked, 0u);
}

Test(trial, a_death_ends_it)
{
    const uint32_t method[] = { DIE };
    struct contender contender[1];

    contend(false, method, 1, contender, -ECHILD);
}

Test(trial, quartiles)
{
    const double value[] = { 4, 1, 3, 2, 5 }, two[] = { 2, 1 };
    struct spread spread = spread_of(value, 5);

    cr_expect_float_eq(spread.low, 2, 1e-9);
    cr_expect_float_eq(spread.mid, 3, 1e-9);
    cr_expect_float_eq(spread.high, 4, 1e-9);
    cr_expect_float_eq(spread_of(two, 2).mid, 1.5, 1e-9);
}

/* -- turns -- */

Test(trial, each_comes_first_and_behind_each_other_one_as_often)
{
    enum { MOST = 12 };

    for (uint32_t n = 1; n <= MOST; n++) {
        const uint32_t n_rounds = n % 2 == 0 ? n : 2 * n, often = n_rounds / n;
        uint32_t first[MOST] = { 0 }, behind[MOST][MOST] = { { 0 } };

        for (uint32_t round = 0; round < n_rounds; round++) {
            bool had[MOST] = { false };

            for (uint32_t i = 0; i < n; i++) {
                uint32_t turn = trial_turn(n, round, i);

                cr_assert(turn < n && !had[turn], "%u of %u, round %u", i, n, round);
                had[turn] = true;
                if (i == 0)
                    first[turn]++;
                else
                    behind[trial_turn(n, round, i - 1)][turn]++;
            }
        }
        for (uint32_t a = 0; a < n; a++) {
            cr_expect_eq(first[a], often, "%u of %u", a, n);
            for (uint32_t b = 0; b < n; b++)
                cr_expect_eq(behind[a][b], a == b ? 0 : often, "%u behind %u, of %u", b, a, n);
        }
    }
}
