/* SPDX-License-Identifier: MIT */
/* Groups on a clock of the test's own: what each wrong call is told, and random lives of groups beside a model that is
 * too simple to be wrong. */
#include "ioctl/group.h"
#include "test/support/rng.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <string.h>

#define SECOND     UINT64_C(1000000000)
#define TIMEOUT    30000 /* ms */
#define MAX_PROBES 4096

struct probe {
    struct waiter waiter;
    int n_answers;
};

struct world {
    struct groups *groups;
    uint64_t now;
    struct round *at_work[64];
    size_t n_at_work;
    uint64_t n_asks, n_dropped;
    char failed[256];
    struct wanted_cache cache;
    struct probe probe[MAX_PROBES];
    size_t n_probes;
};

static uint64_t world_now(void *ctx)
{
    return ((struct world *) ctx)->now;
}

static void world_start(void *ctx, struct round *round)
{
    struct world *world = ctx;

    cr_assert_lt(world->n_at_work, ARRAY_SIZE(world->at_work));
    for (uint32_t i = 0; i < round->n; i++)
        cr_assert_not_null(round->entry[i].ask, "work without rank %u's request", i);
    world->at_work[world->n_at_work++] = round;
}

static void world_drop(void *ctx, struct ask *ask)
{
    ((struct world *) ctx)->n_dropped++;
    wanted_put(ask->wanted);
    free(ask);
}

static void world_failed(void *ctx, const char *why)
{
    struct world *world = ctx;

    strncpy(world->failed, why, sizeof world->failed - 1);
}

static struct world *world_new(const struct groups_limits *limits)
{
    static const struct groups_ops ops = { world_now, world_start, world_drop, world_failed };
    struct world *world = calloc(1, sizeof *world);

    cr_assert_not_null(world);
    world->now = 1000 * SECOND;
    wanted_cache_init(&world->cache);
    cr_assert_eq(groups_new(&ops, world, limits != NULL ? limits : &groups_usual_limits, &world->groups), 0);
    return world;
}

static void world_finish(struct world *world, size_t i, int result)
{
    struct round *round = world->at_work[i];

    world->at_work[i] = world->at_work[--world->n_at_work];
    groups_done(world->groups, round, result);
}

/* All work ends, all files are closed: nothing may be left, nobody may still wait. */
static void world_free(struct world *world, uint64_t n_handles)
{
    struct groups_count count;

    while (world->n_at_work > 0)
        world_finish(world, 0, 0);
    for (uint64_t handle = 1; handle <= n_handles; handle++)
        groups_handle_gone(world->groups, handle);
    while (world->n_at_work > 0)
        world_finish(world, 0, 0);
    for (size_t i = 0; i < world->n_probes; i++)
        cr_assert_eq(world->probe[i].n_answers, 1, "waiter %zu was answered %d times", i, world->probe[i].n_answers);
    cr_assert_eq(world->n_dropped, world->n_asks);
    count = groups_count(world->groups);
    cr_assert_eq(count.groups + count.ranks + count.asks + count.waiters + count.openers + count.users, 0,
                 "left: %" PRIu64 " groups, %" PRIu64 " ranks, %" PRIu64 " asks, %" PRIu64 " waiters, %" PRIu64
                 " openers, %" PRIu64 " users",
                 count.groups, count.ranks, count.asks, count.waiters, count.openers, count.users);
    groups_free(world->groups);
    wanted_cache_done(&world->cache);
    free(world);
}

static void note_answer(struct waiter *waiter)
{
    ((struct probe *) waiter)->n_answers++;
}

static struct probe *probe_new(struct world *world)
{
    struct probe *probe = &world->probe[world->n_probes++];

    cr_assert_leq(world->n_probes, (size_t) MAX_PROBES);
    probe->waiter.answer = note_answer;
    (void) groups_expect(world->groups, &probe->waiter);
    return probe;
}

/* n bytes from the start of the file; none: an empty section. */
static struct ask *ask_new(struct world *world, bool write, uint64_t n)
{
    struct ask *ask = calloc(1, sizeof *ask);
    struct fallsfs_ioc_falls falls = { .disp = 0 };

    cr_assert_not_null(ask);
    if (n > 0)
        snprintf(falls.text, sizeof falls.text, "{(0,%" PRIu64 ",%" PRIu64 ",1)}", n - 1, n);
    else
        snprintf(falls.text, sizeof falls.text, "{}");
    ask->write = write;
    cr_assert_eq(wanted_falls(&world->cache, &falls, &ask->wanted), 0, "%s", falls.text);
    world->n_asks++;
    return ask;
}

/* Process, open file and rank have the same number, from 1. */
static struct caller caller_of(uint64_t n)
{
    return (struct caller){ .file = 7, .handle = n, .process = 100 + n, .uid = 1000 };
}

static struct group_terms terms_of(uint32_t nranks)
{
    return (struct group_terms){ .nranks = nranks, .timeout = TIMEOUT };
}

static const uint8_t token[GROUP_TOKEN] = "sixteen bytes ..";

static int join(struct world *world, uint64_t n, uint32_t nranks, uint64_t *ret_group)
{
    struct caller caller = caller_of(n);
    struct group_terms terms = terms_of(nranks);

    return groups_join(world->groups, &caller, token, (uint32_t) n - 1, &terms, ret_group);
}

static struct probe *ask(struct world *world, uint64_t n, uint64_t group, uint64_t seq, bool ticket, bool write,
                         uint64_t bytes)
{
    struct caller caller = caller_of(n);
    struct probe *probe = probe_new(world);

    groups_ask(world->groups, &caller, group, seq, ticket, ask_new(world, write, bytes), &probe->waiter);
    return probe;
}

static struct probe *wait_for(struct world *world, uint64_t n, uint64_t ticket, bool patient)
{
    struct caller caller = caller_of(n);
    struct probe *probe = probe_new(world);

    groups_wait(world->groups, &caller, ticket, patient, &probe->waiter);
    return probe;
}

#define PENDING 1

static int state_of(const struct probe *probe)
{
    return probe->n_answers == 0 ? PENDING : probe->waiter.result;
}

static uint64_t group_of(struct world *world, uint32_t nranks)
{
    uint64_t group = 0;

    for (uint32_t n = 1; n <= nranks; n++)
        cr_assert_eq(join(world, n, nranks, &group), 0);
    return group;
}

/* -- joining: each wrong field -- */

struct join_case {
    char why[40];
    uint64_t file, handle, process;
    uint32_t uid, rank, nranks, timeout, domains, workers;
    uint64_t window;
    bool other_token;
    int want;
};

ParameterizedTestParameters(group, join)
{
    static struct join_case rows[] = {
        { "the second rank", 7, 2, 102, 1000, 1, 3, TIMEOUT, 0, 0, 0, false, 0 },
        { "another group", 7, 2, 102, 1000, 0, 9, TIMEOUT, 0, 0, 0, true, 0 },
        { "another group, same open file", 7, 1, 101, 1000, 0, 9, TIMEOUT, 0, 0, 0, true, 0 },
        { "rank is taken", 7, 2, 102, 1000, 0, 3, TIMEOUT, 0, 0, 0, false, -EEXIST },
        { "open file has joined", 7, 1, 101, 1000, 1, 3, TIMEOUT, 0, 0, 0, false, -EEXIST },
        { "another user", 7, 2, 102, 1001, 1, 3, TIMEOUT, 0, 0, 0, false, -EACCES },
        { "root is another user", 7, 2, 102, 0, 1, 3, TIMEOUT, 0, 0, 0, false, -EACCES },
        { "another file", 8, 2, 102, 1000, 1, 3, TIMEOUT, 0, 0, 0, false, -EACCES },
        { "another user learns nothing more", 8, 2, 102, 1001, 0, 4, 1000, 1, 1, 1, false, -EACCES },
        { "more ranks", 7, 2, 102, 1000, 1, 4, TIMEOUT, 0, 0, 0, false, -EPROTO },
        { "fewer ranks", 7, 2, 102, 1000, 1, 2, TIMEOUT, 0, 0, 0, false, -EPROTO },
        { "another timeout", 7, 2, 102, 1000, 1, 3, 1000, 0, 0, 0, false, -EPROTO },
        { "other domains", 7, 2, 102, 1000, 1, 3, TIMEOUT, 1, 0, 0, false, -EPROTO },
        { "other workers", 7, 2, 102, 1000, 1, 3, TIMEOUT, 0, 1, 0, false, -EPROTO },
        { "another window", 7, 2, 102, 1000, 1, 3, TIMEOUT, 0, 0, 1, false, -EPROTO },
        { "too many ranks for a user", 7, 2, 102, 1000, 0, 4094, TIMEOUT, 0, 0, 0, true, -EUSERS },
        { "as many as a user may have", 7, 2, 102, 1000, 0, 4093, TIMEOUT, 0, 0, 0, true, 0 },
    };

    return cr_make_param_array(struct join_case, rows, ARRAY_SIZE(rows));
}

ParameterizedTest(struct join_case *row, group, join)
{
    static const uint8_t other[GROUP_TOKEN] = "sixteen bytes .!";
    struct world *world = world_new(NULL);
    struct caller caller = { row->file, row->handle, row->process, row->uid };
    struct group_terms terms = { row->nranks,
                                 { .domains = row->domains, .window = row->window, .workers = row->workers },
                                 row->timeout };
    uint64_t first, group = 0;

    cr_assert_eq(join(world, 1, 3, &first), 0);
    cr_expect_eq(groups_join(world->groups, &caller, row->other_token ? other : token, row->rank, &terms, &group),
                 row->want, "%s", row->why);
    cr_expect_eq(group == first, row->want == 0 && !row->other_token, "%s", row->why);

    /* The group that was there is as it was. */
    if (row->want < 0 || row->other_token) {
        struct probe *probe[3];

        for (uint64_t n = 2; n <= 3; n++)
            cr_assert_eq(join(world, n, 3, &group), 0, "%s", row->why);
        for (uint64_t n = 1; n <= 3; n++)
            probe[n - 1] = ask(world, n, first, 1, false, false, 4);
        cr_assert_eq(world->n_at_work, 1);
        world_finish(world, 0, 0);
        for (size_t i = 0; i < 3; i++)
            cr_expect_eq(state_of(probe[i]), 0, "%s", row->why);
    }
    world_free(world, 16);
}

ParameterizedTestParameters(group, joined_before)
{
    static int rows[] = { -ECANCELED, -ETIMEDOUT, -EPROTO };

    return cr_make_param_array(int, rows, ARRAY_SIZE(rows));
}

/* Who comes late to a group that has failed is told at once, not left to wait. */
ParameterizedTest(int *want, group, joined_before)
{
    struct world *world = world_new(NULL);
    uint64_t group;

    cr_assert_eq(join(world, 1, 3, &group), 0);
    cr_assert_eq(join(world, 2, 3, &group), 0);
    (void) ask(world, 1, group, 1, false, false, 4);
    if (*want == -ECANCELED)
        groups_handle_gone(world->groups, 2);
    else if (*want == -EPROTO)
        (void) ask(world, 2, group, 1, false, true, 4);
    else
        world->now += 2 * TIMEOUT * UINT64_C(1000000);
    (void) groups_tick(world->groups);
    cr_expect_eq(join(world, 3, 3, &group), *want);
    world_free(world, 3);
}

/* 64 groups are a user's, root has four times as many; another user is not concerned. */
Test(group, so_many_groups)
{
    struct world *world = world_new(NULL);
    struct group_terms terms = terms_of(1);
    uint8_t name[GROUP_TOKEN] = { 0 };
    uint64_t group;

    for (uint32_t uid = 0; uid <= 2; uid++) {
        uint32_t limit = uid == 0 ? 256 : 64;

        for (uint32_t i = 0; i <= limit; i++) {
            struct caller caller = { .file = 7, .handle = 1, .process = 1, .uid = uid };

            memcpy(name, &uid, sizeof uid);
            memcpy(name + sizeof uid, &i, sizeof i);
            cr_assert_eq(groups_join(world->groups, &caller, name, 0, &terms, &group), i < limit ? 0 : -EUSERS);
        }
    }
    world_free(world, 1);
}

/* -- asking -- */

Test(group, the_last_one_starts_the_work)
{
    struct world *world = world_new(NULL);
    uint64_t group = group_of(world, 3);
    struct probe *probe[3];

    for (uint64_t n = 1; n <= 3; n++) {
        cr_expect_eq(world->n_at_work, 0);
        probe[n - 1] = ask(world, n, group, 1, false, true, n - 1); /* rank 0 wants nothing */
        world->now += SECOND;
    }
    cr_assert_eq(world->n_at_work, 1);
    cr_expect_eq(world->at_work[0]->bytes, 3);
    cr_expect(world->at_work[0]->write);
    cr_expect_eq(world->at_work[0]->stats.ns_wait, 2 * SECOND);
    for (size_t i = 0; i < 3; i++)
        cr_expect_eq(state_of(probe[i]), PENDING);
    world_finish(world, 0, -ENOSPC);
    for (size_t i = 0; i < 3; i++) {
        cr_expect_eq(state_of(probe[i]), -ENOSPC);
        cr_expect_eq(probe[i]->waiter.bytes, i);
    }
    /* An error of the disks is one of that round alone. */
    for (uint64_t n = 1; n <= 3; n++)
        probe[n - 1] = ask(world, n, group, 2, false, false, 1);
    world_finish(world, 0, 0);
    cr_expect_eq(state_of(probe[2]), 0);
    world_free(world, 3);
}

struct ask_case {
    char why[48];
    uint64_t handle, process, group, seq;
    bool write;
    int want, others;
};

ParameterizedTestParameters(group, ask)
{
    static struct ask_case rows[] = {
        { "the other rank", 2, 102, 1, 1, false, PENDING, PENDING },
        { "another direction", 2, 102, 1, 1, true, -EPROTO, -EPROTO },
        { "another process: forked", 2, 103, 1, 1, false, -EPERM, PENDING },
        { "the first one's child", 1, 103, 1, 2, false, -EPERM, PENDING },
        { "no such group", 2, 102, 2, 1, false, -EINVAL, PENDING },
        { "not in this group", 9, 109, 1, 1, false, -EINVAL, PENDING },
        { "a round too far", 2, 102, 1, 2, false, -EPROTO, PENDING },
        { "round 0", 2, 102, 1, 0, false, -EPROTO, PENDING },
        { "again, and different: direction", 1, 101, 1, 1, true, -EPROTO, PENDING },
        { "again, while somebody waits", 1, 101, 1, 1, false, -EBUSY, PENDING },
    };

    return cr_make_param_array(struct ask_case, rows, ARRAY_SIZE(rows));
}

ParameterizedTest(struct ask_case *row, group, ask)
{
    struct world *world = world_new(NULL);
    uint64_t group = group_of(world, 3);
    struct caller caller = { 7, row->handle, row->process, 1000 };
    struct probe *first = ask(world, 1, group, 1, false, false, 4), *probe = probe_new(world);

    cr_assert_eq(group, 1);
    groups_ask(world->groups, &caller, row->group, row->seq, false, ask_new(world, row->write, 4), &probe->waiter);
    cr_expect_eq(state_of(probe), row->want, "%s: %d", row->why, state_of(probe));
    cr_expect_eq(state_of(first), row->others, "%s: %d", row->why, state_of(first));
    world_free(world, 9);
}

Test(group, interrupted_and_asked_again)
{
    struct world *world = world_new(NULL);
    uint64_t group = group_of(world, 2), number;
    struct probe *probe = ask(world, 1, group, 1, false, false, 4), *again;

    number = probe->waiter.number;
    groups_interrupt(world->groups, number);
    cr_expect_eq(state_of(probe), -EINTR);
    groups_interrupt(world->groups, number); /* the kernel is late: nobody is meant */
    again = ask(world, 1, group, 1, false, false, 4);
    cr_expect_eq(state_of(again), PENDING);
    groups_interrupt(world->groups, again->waiter.number);

    /* What was asked for stands: the other one is served. */
    probe = ask(world, 2, group, 1, false, false, 4);
    cr_assert_eq(world->n_at_work, 1);
    world_finish(world, 0, 0);
    cr_expect_eq(state_of(probe), 0);
    cr_expect_eq(state_of(ask(world, 1, group, 1, false, false, 5)), 0, "over and done");
    cr_expect_eq(state_of(ask(world, 1, group, 1, false, false, 4)), -EPROTO, "answered before");

    /* Nobody has to come back for a result. */
    probe = ask(world, 1, group, 2, false, false, 4);
    groups_interrupt(world->groups, probe->waiter.number);
    (void) ask(world, 2, group, 2, false, false, 4);
    world_finish(world, 0, 0);
    cr_expect_eq(state_of(ask(world, 1, group, 3, false, false, 4)), PENDING);
    world_free(world, 2);
}

/* The interrupt may come before the request is known to anybody. */
Test(group, interrupted_before_it_begins)
{
    struct world *world = world_new(NULL);
    uint64_t group = group_of(world, 2);
    struct caller caller = caller_of(1);
    struct probe *probe = probe_new(world);

    groups_interrupt(world->groups, probe->waiter.number);
    cr_expect_eq(state_of(probe), PENDING);
    groups_ask(world->groups, &caller, group, 1, false, ask_new(world, false, 4), &probe->waiter);
    cr_expect_eq(state_of(probe), -EINTR);
    world_free(world, 2);
}

/* -- asking for all -- */

static struct board *board_new(uint32_t nranks)
{
    struct board *board = calloc(1, sizeof *board);

    cr_assert_not_null(board);
    atomic_init(&board->refs, 1);
    board->nranks = nranks;
    board->free = (void (*)(struct board *)) free;
    return board;
}

static int show_board(struct world *world, uint64_t n, uint64_t group, struct board *offered)
{
    struct caller caller = caller_of(n);
    struct board *board = NULL;
    int r = groups_board(world->groups, &caller, group, offered, &board);

    board_put(board);
    return r;
}

static int gather(struct world *world, uint64_t n, uint64_t group, uint64_t seq, struct gathering *ret_gathering)
{
    struct caller caller = caller_of(n);

    return groups_gather(world->groups, &caller, group, seq, ret_gathering);
}

static bool writes(uint64_t seq)
{
    return seq % 3 == 0;
}

/* Each rank what it would ask for itself; odd_one: writes when the others read. */
static struct probe *ask_all(struct world *world, uint64_t n, uint64_t group, uint64_t seq,
                             const struct gathering *gathering, uint32_t odd_one)
{
    struct caller caller = caller_of(n);
    struct probe *probe = probe_new(world);
    struct ask *asks[4096];

    for (uint32_t i = 0; i < gathering->n; i++)
        asks[i] = ask_new(world, writes(seq) != (i == odd_one), i % 3);
    groups_ask_all(world->groups, &caller, group, seq, gathering, asks, SECOND, &probe->waiter);
    return probe;
}

#define NOBODY UINT32_MAX

enum obstacle {
    NOTHING,
    NO_BOARD,
    NOT_JOINED,
    LEFT,
    OWN_REQUEST,
    OTHER_ROUND,
    ALL_HAVE_ASKED,
    NOT_OF_THE_GROUP,
    FORKED,
    LEAVES_MEANWHILE,
    ASKS_MEANWHILE,
    OTHER_DIRECTION,
    TOO_MANY_ASKS,
    TOO_MUCH_WANTED,
};

struct all_case {
    char why[48];
    enum obstacle obstacle;
    int gathered, want; /* want: once gathered */
};

ParameterizedTestParameters(group, ask_all)
{
    static struct all_case rows[] = {
        { "all are there", NOTHING, 0, PENDING },
        { "no board", NO_BOARD, -EAGAIN, 0 },
        { "one has not joined", NOT_JOINED, -EAGAIN, 0 },
        { "one has left", LEFT, -EAGAIN, 0 },
        { "one has asked for itself", OWN_REQUEST, -EAGAIN, 0 },
        { "a round too far", OTHER_ROUND, -EAGAIN, 0 },
        { "twice the same", ALL_HAVE_ASKED, -EAGAIN, 0 },
        { "by somebody else", NOT_OF_THE_GROUP, -EINVAL, 0 },
        { "by a child", FORKED, -EPERM, 0 },
        { "one leaves before it is done", LEAVES_MEANWHILE, 0, -EAGAIN },
        { "one asks for itself before it is done", ASKS_MEANWHILE, 0, -EAGAIN },
        { "one writes, the others read", OTHER_DIRECTION, 0, -EAGAIN },
        { "too many requests for a user", TOO_MANY_ASKS, 0, -EAGAIN },
        { "requests too large for a user", TOO_MUCH_WANTED, 0, -EAGAIN },
    };

    return cr_make_param_array(struct all_case, rows, ARRAY_SIZE(rows));
}

/* What cannot be asked for all has happened to nobody, and each can ask for itself, as far as that is possible. */
ParameterizedTest(struct all_case *row, group, ask_all)
{
    struct groups_limits limits = groups_usual_limits;
    struct gathering gathering = { 0 };
    struct caller caller = caller_of(2);
    enum obstacle obstacle = row->obstacle;
    struct world *world;
    struct probe *probe[3] = { NULL };
    uint64_t group = 0;
    int r;

    limits.asks = obstacle == TOO_MANY_ASKS ? 2 : limits.asks;
    limits.wanted = obstacle == TOO_MUCH_WANTED ? 1 : limits.wanted;
    world = world_new(&limits);
    for (uint32_t n = 1; n <= (obstacle == NOT_JOINED ? 2 : 3); n++)
        cr_assert_eq(join(world, n, 3, &group), 0);
    if (obstacle != NO_BOARD)
        cr_assert_eq(show_board(world, 1, group, board_new(3)), 0);
    if (obstacle == LEFT)
        groups_handle_gone(world->groups, 3);
    if (obstacle == OWN_REQUEST)
        probe[0] = ask(world, 1, group, 1, false, false, 0);
    if (obstacle == ALL_HAVE_ASKED) {
        cr_assert_eq(gather(world, 1, group, 1, &gathering), 0);
        probe[0] = ask_all(world, 1, group, 1, &gathering, NOBODY);
        gathering_done(&gathering);
    }
    caller.handle = obstacle == NOT_OF_THE_GROUP ? 9 : 2;
    caller.process = obstacle == FORKED ? 103 : 102;

    r = groups_gather(world->groups, &caller, group, obstacle == OTHER_ROUND ? 2 : 1, &gathering);
    cr_assert_eq(r, row->gathered, "%s: %d", row->why, r);
    if (obstacle == LEAVES_MEANWHILE)
        groups_handle_gone(world->groups, 1);
    if (obstacle == ASKS_MEANWHILE)
        probe[0] = ask(world, 1, group, 1, false, false, 0);
    if (r == 0) {
        struct probe *all = ask_all(world, 2, group, 1, &gathering, obstacle == OTHER_DIRECTION ? 2 : NOBODY);

        cr_expect_eq(state_of(all), row->want, "%s: %d", row->why, state_of(all));
        cr_expect_eq(all->waiter.accepted, row->want == PENDING, "%s", row->why);
    }
    gathering_done(&gathering);
    if (obstacle == NOTHING || obstacle == ALL_HAVE_ASKED) {
        cr_assert_eq(world->n_at_work, 1);
        cr_expect_eq(world->at_work[0]->stats.ns_wait, SECOND);
    }
    if (obstacle != LEFT && obstacle != LEAVES_MEANWHILE && obstacle != TOO_MANY_ASKS && obstacle != TOO_MUCH_WANTED) {
        if (obstacle == NOT_JOINED)
            cr_assert_eq(join(world, 3, 3, &group), 0);
        for (uint64_t n = 1; n <= 3; n++)
            if ((n != 2 || obstacle != NOTHING) && probe[n - 1] == NULL)
                probe[n - 1] = ask(world, n, group, 1, false, false, (n - 1) % 3);
        cr_assert_eq(world->n_at_work, 1, "%s", row->why);
        world_finish(world, 0, 0);
        for (int i = 0; i < 3; i++)
            if (probe[i] != NULL)
                cr_expect_eq(state_of(probe[i]), 0, "%s: rank %d: %d", row->why, i, state_of(probe[i]));
    }
    world_free(world, 9);
}

/* Nobody has to come for a result that the board has told. */
Test(group, rounds_by_board)
{
    struct world *world = world_new(NULL);
    uint64_t group = group_of(world, 3);
    struct probe *probe;

    cr_assert_eq(show_board(world, 1, group, NULL), -ENOENT);
    cr_assert_eq(show_board(world, 1, group, board_new(2)), -ENOENT, "of another size");
    cr_assert_eq(show_board(world, 1, group, board_new(3)), 0);
    cr_assert_eq(show_board(world, 2, group, board_new(3)), 0, "it has one");
    cr_assert_eq(show_board(world, 9, group, NULL), -EINVAL);
    for (uint64_t seq = 1; seq <= 100; seq++) {
        struct gathering gathering;
        uint64_t n = seq % 3 + 1;

        cr_assert_eq(gather(world, n, group, seq, &gathering), 0);
        probe = ask_all(world, n, group, seq, &gathering, NOBODY);
        gathering_done(&gathering);
        cr_assert_eq(world->n_at_work, 1);
        world_finish(world, 0, seq % 7 == 0 ? -EIO : 0);
        cr_assert_eq(state_of(probe), seq % 7 == 0 ? -EIO : 0);
        cr_assert_leq(groups_count(world->groups).asks, 2u, "those of the last round");
    }
    cr_expect_eq(state_of(ask(world, 3, group, 100, false, writes(100), 2)), 0, "came to ask all the same");
    probe = ask(world, 2, group, 101, false, false, 0);
    cr_expect_eq(state_of(probe), PENDING);
    world_free(world, 3);
}

/* -- failing -- */

Test(group, missing_ranks_are_named)
{
    struct world *world = world_new(NULL);
    struct group_terms terms = terms_of(5);
    struct caller caller = caller_of(1);
    struct group_stats stats;
    struct probe *probe;
    uint64_t group;

    for (uint64_t n = 1; n <= 4; n++)
        cr_assert_eq(join(world, n, terms.nranks, &group), 0); /* rank 4 does not even join */
    probe = ask(world, 1, group, 1, false, false, 4);
    (void) ask(world, 3, group, 1, false, false, 4);
    world->now += TIMEOUT * UINT64_C(1000000) - 1;
    cr_expect_eq(groups_tick(world->groups), world->now + 1);
    cr_expect_eq(state_of(probe), PENDING);
    world->now++;
    cr_expect_eq(groups_tick(world->groups), UINT64_MAX);
    cr_expect_eq(state_of(probe), -ETIMEDOUT);
    cr_expect_not_null(strstr(world->failed, "missing: 1 3 4"), "%s", world->failed);
    cr_assert_eq(groups_stats(world->groups, &caller, group, &stats), 0);
    cr_expect_eq(stats.error, -ETIMEDOUT);
    cr_assert_eq(stats.n_culprits, 3);
    cr_expect(stats.culprit[0] == 1 && stats.culprit[1] == 3 && stats.culprit[2] == 4);
    cr_expect_eq(state_of(ask(world, 2, group, 1, false, false, 4)), -ETIMEDOUT, "who comes late is told the same");
    world_free(world, 5);
}

/* A round that is complete waits for the one at work: when that takes too long, so does it. */
Test(group, work_behind_work_that_takes_too_long)
{
    const struct groups_limits limits = {
        .groups = 64, .ranks = 4096, .asks = 64, .wanted = 1 << 20, .patience = 5 * SECOND
    };
    struct world *world = world_new(&limits);
    uint64_t group = group_of(world, 2);
    struct probe *probe[4];

    for (uint64_t n = 1; n <= 2; n++) {
        probe[n - 1] = ask(world, n, group, 1, true, false, 4);
        probe[n + 1] = ask(world, n, group, 2, false, false, 4);
    }
    world->now += 5 * SECOND - 1;
    cr_expect_eq(groups_tick(world->groups), world->now + 1);
    cr_expect(state_of(probe[2]) == PENDING && state_of(probe[3]) == PENDING);
    world->now++;
    (void) groups_tick(world->groups);
    cr_expect(state_of(probe[2]) == -EIO && state_of(probe[3]) == -EIO);
    world_finish(world, 0, 0);
    cr_assert_eq(world->n_at_work, 1, "it is done all the same, in order");
    world_free(world, 2);
}

/* -- being seen -- */

static bool is_missing(const struct fallsfs_ioc_groups *shown, uint32_t rank)
{
    return (shown->missing[rank / 8] >> rank % 8 & 1) != 0;
}

static struct fallsfs_ioc_groups shown_after(struct world *world, uint32_t uid, uint64_t after)
{
    struct fallsfs_ioc_groups shown = { .version = 0 };
    uint64_t file = 0;

    if (groups_show(world->groups, uid, after, &shown, &file))
        cr_expect_eq(file, 7);
    return shown;
}

Test(group, shown_in_all_its_states)
{
    struct world *world = world_new(NULL);
    struct fallsfs_ioc_groups shown;
    struct caller caller = caller_of(3);
    uint64_t group = group_of(world, 11);

    shown = shown_after(world, 1000, 0);
    cr_expect(shown.group == group && shown.state == FALLSFS_GROUP_IDLE && shown.seq == 0 && shown.n_missing == 0);
    cr_expect(shown.uid == 1000 && shown.nranks == 11 && shown.joined == 11);
    for (uint64_t n = 1; n <= 11; n++)
        if (n != 2 && n != 10)
            (void) ask(world, n, group, 1, true, true, 4);
    world->now += 3 * SECOND;
    shown = shown_after(world, 1000, 0);
    cr_expect(shown.state == FALLSFS_GROUP_WAITS && shown.seq == 1 && shown.direction == FALLSFS_WRITE);
    cr_expect(shown.ns_since == 3 * SECOND && shown.ns_left == 27 * SECOND, "%llu %llu", shown.ns_since, shown.ns_left);
    cr_expect_eq(shown.n_missing, 2);
    for (uint32_t rank = 0; rank < 16; rank++)
        cr_expect_eq(is_missing(&shown, rank), rank == 1 || rank == 9, "rank %u", rank);
    (void) ask(world, 2, group, 1, true, true, 4);
    (void) ask(world, 10, group, 1, true, true, 4);
    (void) ask(world, 1, group, 2, true, false, 4); /* is waited for when the first round is over */
    shown = shown_after(world, 1000, 0);
    cr_expect(shown.state == FALLSFS_GROUP_AT_WORK && shown.seq == 1 && shown.n_missing == 0);
    cr_expect_eq(shown.ns_left, FALLSFS_NO_DEADLINE, "patience has no end here");
    world_finish(world, 0, 0);
    shown = shown_after(world, 1000, 0);
    cr_expect(shown.state == FALLSFS_GROUP_WAITS && shown.seq == 2 && shown.direction == FALLSFS_READ);
    cr_expect(shown.n_missing == 10 && !is_missing(&shown, 0) && is_missing(&shown, 1));
    cr_assert_eq(groups_leave(world->groups, &caller, group), 0);
    shown = shown_after(world, 1000, 0);
    cr_expect(shown.state == FALLSFS_GROUP_FAILED && shown.error == ECANCELED && shown.joined == 10);
    cr_expect(shown.n_missing == 1 && is_missing(&shown, 2) && !is_missing(&shown, 1));
    world_free(world, 11);
}

/* Each once, oldest first; others' are root's to see; requests without a group are none. */
Test(group, shown_to_whom_they_belong)
{
    struct world *world = world_new(NULL);
    struct group_terms terms = terms_of(2);
    struct probe *probe = probe_new(world);
    uint64_t group[6], after = 0;

    for (uint64_t n = 1; n <= 6; n++) {
        struct caller caller = caller_of(n);
        uint8_t other[GROUP_TOKEN] = { (uint8_t) n };

        caller.uid = n % 2 == 0 ? 1000 : 2000;
        cr_assert_eq(groups_join(world->groups, &caller, other, 0, &terms, &group[n - 1]), 0);
    }
    groups_ask_alone(world->groups, &(struct caller){ .file = 7, .handle = 7, .uid = 1000 }, false,
                     ask_new(world, false, 4), &probe->waiter);
    for (size_t i = 0; i < 6; i++) {
        after = shown_after(world, 0, after).group;
        cr_expect_eq(after, group[i]);
    }
    cr_expect_eq(shown_after(world, 0, after).group, 0);
    after = 0;
    for (size_t i = 1; i < 6; i += 2) {
        after = shown_after(world, 1000, after).group;
        cr_expect_eq(after, group[i]);
    }
    cr_expect_eq(shown_after(world, 1000, after).group, 0);
    cr_expect_eq(shown_after(world, 3000, 0).group, 0);
    world_free(world, 7);
}

struct gone_case {
    char why[40];
    bool process, leave, ticket;
    uint32_t asked; /* ranks that have asked before, the one that goes first */
    int want;
};

ParameterizedTestParameters(group, gone)
{
    static struct gone_case rows[] = {
        { "closed, before it asked", false, false, false, 0, -ECANCELED },
        { "closed, after it asked", false, false, false, 1, -ECANCELED },
        { "closed, with the work begun", false, false, false, 3, 0 },
        { "died, after it asked", true, false, false, 1, -ECANCELED },
        { "died, with the work begun", true, false, false, 3, 0 },
        { "left, after it asked", false, true, false, 1, -ECANCELED },
        { "left, its ticket at work", false, true, true, 3, 0 },
    };

    return cr_make_param_array(struct gone_case, rows, ARRAY_SIZE(rows));
}

ParameterizedTest(struct gone_case *row, group, gone)
{
    struct world *world = world_new(NULL);
    uint64_t group = group_of(world, 3);
    struct caller caller = caller_of(1);
    struct probe *probe[3];

    for (uint64_t n = 1; n <= row->asked; n++)
        probe[n - 1] = ask(world, n, group, 1, row->ticket, true, 4);
    if (row->leave)
        cr_assert_eq(groups_leave(world->groups, &caller, group), 0);
    else if (row->process)
        groups_process_gone(world->groups, caller.process);
    else
        groups_handle_gone(world->groups, caller.handle);
    for (uint64_t n = row->asked + 1; n <= 3; n++)
        probe[n - 1] = n > 1 ? ask(world, n, group, 1, row->ticket, true, 4) : NULL;
    if (world->n_at_work > 0)
        world_finish(world, 0, 0);
    for (uint64_t n = 2; n <= 3; n++) {
        if (row->ticket)
            probe[n - 1] = wait_for(world, n, probe[n - 1]->waiter.ticket, true);
        cr_expect_eq(state_of(probe[n - 1]), row->want, "%s: %d", row->why, state_of(probe[n - 1]));
        cr_expect_eq(state_of(ask(world, n, group, 2, false, true, 4)), -ECANCELED, "%s", row->why);
    }
    world_free(world, 3);
}

/* -- tickets -- */

Test(group, tickets_one_after_the_other)
{
    struct world *world = world_new(NULL);
    uint64_t group = group_of(world, 2), ticket[2][3];
    struct caller caller = caller_of(1);

    for (uint64_t seq = 1; seq <= 3; seq++)
        for (uint64_t n = 1; n <= 2; n++) {
            struct probe *probe = ask(world, n, group, seq, true, false, seq);

            cr_assert_eq(state_of(probe), 0);
            ticket[n - 1][seq - 1] = probe->waiter.ticket;
        }
    cr_assert_eq(world->n_at_work, 1, "one round at a time");
    cr_expect_eq(state_of(wait_for(world, 1, ticket[0][0], false)), -EAGAIN);
    cr_expect_eq(state_of(wait_for(world, 2, ticket[0][0], true)), -EINVAL, "another's");
    cr_expect_eq(state_of(wait_for(world, 1, 0, true)), -EINVAL, "none");
    cr_expect_eq(groups_poll(world->groups, &caller, NULL), GROUPS_PENDING);
    for (uint64_t seq = 1; seq <= 3; seq++) {
        struct probe *waits = wait_for(world, 2, ticket[1][seq - 1], true), *done;

        cr_expect_eq(world->at_work[0]->seq, seq);
        cr_expect_eq(state_of(waits), PENDING);
        world_finish(world, 0, seq == 2 ? -EIO : 0);
        cr_expect_eq(state_of(waits), seq == 2 ? -EIO : 0);
        cr_expect_eq(groups_poll(world->groups, &caller, NULL), GROUPS_READY);
        done = wait_for(world, 1, ticket[0][seq - 1], false);
        cr_expect_eq(state_of(done), seq == 2 ? -EIO : 0);
        cr_expect_eq(done->waiter.bytes, seq);
        cr_expect_eq(state_of(wait_for(world, 1, ticket[0][seq - 1], false)), -EINVAL, "gone with its result");
    }
    cr_expect_eq(groups_poll(world->groups, &caller, NULL), GROUPS_NO_TICKETS);
    world_free(world, 2);
}

Test(group, poll_is_told_once)
{
    struct world *world = world_new(NULL);
    struct caller caller = caller_of(1);
    struct probe *probe = probe_new(world), *first = probe_new(world), *second = probe_new(world),
                 *third = probe_new(world);

    cr_expect_eq(groups_poll(world->groups, &caller, &third->waiter), GROUPS_NO_TICKETS);
    cr_expect_eq(state_of(third), -EAGAIN);
    groups_ask_alone(world->groups, &caller, true, ask_new(world, false, 4), &probe->waiter);
    cr_expect_eq(groups_poll(world->groups, &caller, &first->waiter), GROUPS_PENDING);
    cr_expect_eq(groups_poll(world->groups, &caller, &second->waiter), GROUPS_PENDING);
    cr_expect_eq(state_of(first), -EAGAIN);
    cr_expect_eq(state_of(second), PENDING);
    world_finish(world, 0, 0);
    cr_expect_eq(state_of(second), 0);
    cr_expect_eq(state_of(wait_for(world, 1, probe->waiter.ticket, true)), 0);
    world_free(world, 1);
}

Test(group, no_more_ahead_than_that)
{
    struct world *world = world_new(NULL);
    uint64_t group = group_of(world, 2);

    for (uint64_t seq = 1; seq <= GROUP_MAX_AHEAD; seq++)
        cr_assert_eq(state_of(ask(world, 1, group, seq, true, false, 1)), 0);
    cr_expect_eq(state_of(ask(world, 1, group, GROUP_MAX_AHEAD + 1, true, false, 1)), -EUSERS);
    world_free(world, 2);
}

/* -- alone -- */

Test(group, alone)
{
    struct world *world = world_new(NULL);
    struct caller caller = caller_of(1);
    struct probe *probe[3];

    for (size_t i = 0; i < 3; i++) {
        probe[i] = probe_new(world);
        groups_ask_alone(world->groups, &caller, i == 2, ask_new(world, true, 4), &probe[i]->waiter);
    }
    cr_assert_eq(world->n_at_work, 3, "each by itself");
    cr_expect_eq(state_of(probe[0]), PENDING);
    cr_expect_eq(state_of(probe[2]), 0);
    groups_interrupt(world->groups, probe[1]->waiter.number);
    cr_expect_eq(state_of(probe[1]), -EINTR);
    world_finish(world, 0, -EFBIG);
    cr_expect_eq(state_of(probe[0]), -EFBIG);
    caller.process = 999; /* what is asked for alone is the open file's */
    probe[0] = probe_new(world);
    groups_wait(world->groups, &caller, probe[2]->waiter.ticket, true, &probe[0]->waiter);
    cr_expect_eq(state_of(probe[0]), PENDING);
    groups_handle_gone(world->groups, 1);
    world_free(world, 1);
}

/* Memory is not given back to its owner while it is worked in. */
Test(group, alone_and_interrupted_at_work)
{
    struct world *world = world_new(NULL);
    struct caller caller = caller_of(1);
    struct probe *probe[3];

    for (size_t i = 0; i < 3; i++) {
        probe[i] = probe_new(world);
        groups_ask_alone(world->groups, &caller, false, ask_new(world, true, 4), &probe[i]->waiter);
    }
    cr_assert(round_begin(world->at_work[0]));
    groups_interrupt(world->groups, probe[0]->waiter.number);
    cr_expect_eq(state_of(probe[0]), PENDING);
    cr_expect(world->at_work[0]->unwanted);
    cr_expect_not(round_rest(world->at_work[0]), "somebody waits for its end");
    world_finish(world, 0, -EINTR);
    cr_expect_eq(state_of(probe[0]), -EINTR);

    cr_assert(round_begin(world->at_work[1]) && round_rest(world->at_work[1]));
    groups_interrupt(world->groups, probe[1]->waiter.number);
    cr_expect_eq(state_of(probe[1]), -EINTR, "it rests");
    cr_expect_not(round_begin(world->at_work[1]));
    world_free(world, 1);
}

/* Whether the work of a round is unwanted when one rank has gone and the other one then goes. */
static bool is_unwanted(void (*go)(struct world *world, uint64_t handle, uint64_t group), bool ticket)
{
    struct world *world = world_new(NULL);
    uint64_t group = group_of(world, 2);
    bool unwanted;

    (void) ask(world, 1, group, 1, false, ticket, 4);
    (void) ask(world, 2, group, 1, false, ticket, 4);
    cr_assert_eq(world->n_at_work, 1);
    go(world, 1, group);
    cr_expect_not(world->at_work[0]->unwanted, "the other one wants it");
    go(world, 2, group);
    unwanted = world->at_work[0]->unwanted;
    world_free(world, 2);
    return unwanted;
}

static void go_by_dying(struct world *world, uint64_t handle, uint64_t group)
{
    (void) group;
    for (size_t i = 0; i < world->n_probes; i++)
        if (i == handle - 1 && state_of(&world->probe[i]) == PENDING)
            groups_interrupt(world->groups, world->probe[i].waiter.number);
    groups_process_gone(world->groups, caller_of(handle).process);
}

static void go_by_leaving(struct world *world, uint64_t handle, uint64_t group)
{
    struct caller caller = caller_of(handle);

    cr_assert_eq(groups_leave(world->groups, &caller, group), 0);
}

Test(group, work_that_nobody_wants)
{
    cr_expect(is_unwanted(go_by_dying, false));
    cr_expect(is_unwanted(go_by_dying, true));
    cr_expect_not(is_unwanted(go_by_leaving, true), "they trust that it is done");
}

/* -- limits -- */

Test(group, so_much_at_once)
{
    const struct groups_limits limits = {
        .groups = 64, .ranks = 4096, .asks = 5, .wanted = 1 << 20, .patience = SECOND
    };
    struct world *world = world_new(&limits);
    struct caller caller = caller_of(1);
    struct probe *probe[6];

    for (size_t i = 0; i < 6; i++) {
        probe[i] = probe_new(world);
        groups_ask_alone(world->groups, &caller, false, ask_new(world, true, 4), &probe[i]->waiter);
        cr_expect_eq(state_of(probe[i]), i < 5 ? PENDING : -EUSERS);
    }
    /* The disks do not answer in time. */
    world->now += SECOND;
    (void) groups_tick(world->groups);
    for (size_t i = 0; i < 5; i++)
        cr_expect_eq(state_of(probe[i]), -EIO);
    world_free(world, 1);
}

Test(group, descriptions_take_memory)
{
    const struct groups_limits limits = { .groups = 64, .ranks = 4096, .asks = 100, .wanted = 1000 };
    struct world *world = world_new(&limits);
    struct caller caller = caller_of(1);
    size_t n_refused = 0;

    for (size_t i = 0; i < 20; i++) {
        struct probe *probe = probe_new(world);

        groups_ask_alone(world->groups, &caller, false, ask_new(world, true, 4), &probe->waiter);
        n_refused += state_of(probe) == -EUSERS;
    }
    cr_expect(n_refused > 0 && n_refused < 20, "%zu refused", n_refused);
    world_free(world, 1);
}

/* The end of the mount. */
Test(group, all_are_answered_at_the_end)
{
    struct world *world = world_new(NULL);
    struct caller caller = caller_of(1);
    uint64_t group = group_of(world, 2);
    struct probe *waits = ask(world, 1, group, 1, false, false, 4), *polls = probe_new(world);

    (void) ask(world, 1, group, 2, true, false, 4);
    cr_expect_eq(groups_poll(world->groups, &caller, &polls->waiter), GROUPS_PENDING);
    groups_free(world->groups);
    cr_expect_eq(state_of(waits), -ECANCELED);
    cr_expect_eq(polls->n_answers, 1);
    cr_expect_eq(world->n_dropped, world->n_asks);
    wanted_cache_done(&world->cache);
    free(world);
}

/* -- random lives, beside a model -- */

#define MAX_RANKS  32
#define MAX_ROUNDS 12

/* What one rank did in one round. */
struct cell {
    bool asked, fetched;
    uint64_t ticket;
    int waits; /* the probe that does; -1: none */
};

enum phase { OPEN, WORK, OVER };

struct model {
    struct world *world;
    struct rng *rng;
    uint32_t n;
    uint64_t group, now;
    bool joined[MAX_RANKS], gone[MAX_RANKS];
    unsigned last[MAX_RANKS];
    int error; /* of the group; 0: none */
    struct {
        enum phase phase;
        bool write;
        int result;
        uint64_t since;
        struct cell cell[MAX_RANKS];
    } round[MAX_ROUNDS + 1];
    int want[MAX_PROBES]; /* of each probe */
};

static void settle(struct model *model, unsigned seq, int result)
{
    model->round[seq].phase = OVER;
    model->round[seq].result = result;
    for (uint32_t i = 0; i < model->n; i++) {
        struct cell *cell = &model->round[seq].cell[i];

        if (cell->waits >= 0) {
            model->want[cell->waits] = result;
            cell->waits = -1;
            cell->fetched = true;
        }
    }
}

static void model_fail(struct model *model, int error)
{
    if (model->error != 0)
        return;
    model->error = error;
    for (unsigned seq = 1; seq <= MAX_ROUNDS; seq++)
        if (model->round[seq].phase == OPEN)
            settle(model, seq, error);
}

/* The answer of a cell to who waits for it. */
static int model_wait(struct model *model, unsigned seq, uint32_t rank, int probe)
{
    struct cell *cell = &model->round[seq].cell[rank];

    if (cell->waits >= 0)
        return -EBUSY;
    if (model->round[seq].phase == OVER) {
        cell->fetched = true;
        return model->round[seq].result;
    }
    cell->waits = probe;
    return PENDING;
}

static int model_ask(struct model *model, uint32_t rank, unsigned seq, bool write, bool ticket, int probe)
{
    struct cell *cell = &model->round[seq].cell[rank];
    unsigned n_asked = 0;

    if (!model->joined[rank] || model->gone[rank])
        return -EINVAL;
    if (seq <= model->last[rank]) {
        if (cell->fetched || (cell->ticket != 0) != ticket ||
            (model->round[seq].phase != OVER && model->round[seq].write != write))
            return -EPROTO;
        return ticket ? 0 : model_wait(model, seq, rank, probe);
    }
    if (model->error != 0)
        return model->error;
    if (seq != model->last[rank] + 1)
        return -EPROTO;
    for (uint32_t i = 0; i < model->n; i++)
        n_asked += model->round[seq].cell[i].asked;
    if (n_asked > 0 && model->round[seq].write != write) {
        model_fail(model, -EPROTO);
        return -EPROTO;
    }
    for (unsigned before = 1; before < seq; before++) /* what it did not come back for is not kept */
        if (model->round[before].cell[rank].ticket == 0 && model->round[before].cell[rank].waits < 0)
            model->round[before].cell[rank].fetched = true;
    if (n_asked == 0) {
        model->round[seq].write = write;
        model->round[seq].since = model->now;
    }
    model->last[rank] = seq;
    cell->asked = true;
    if (n_asked + 1 == model->n)
        model->round[seq].phase = WORK;
    if (ticket) {
        cell->ticket = 1; /* which, the answer tells */
        return 0;
    }
    return model_wait(model, seq, rank, probe);
}

static bool model_gathers(const struct model *model, unsigned seq)
{
    for (uint32_t i = 0; i < model->n; i++)
        if (!model->joined[i] || model->gone[i] || model->last[i] + 1 != seq)
            return false;
    return model->error == 0;
}

static int model_ask_all(struct model *model, uint32_t rank, unsigned seq, int probe)
{
    if (!model->joined[rank] || model->gone[rank])
        return -EINVAL;
    if (!model_gathers(model, seq))
        return -EAGAIN;
    for (uint32_t i = 0; i < model->n; i++)
        (void) model_ask(model, i, seq, writes(seq), false, probe);
    for (uint32_t i = 0; i < model->n; i++)
        if (i != rank)
            model->round[seq].cell[i].waits = -1;
    return PENDING;
}

static void model_gone(struct model *model, uint32_t rank)
{
    if (!model->joined[rank] || model->gone[rank])
        return;
    model->gone[rank] = true;
    model_fail(model, -ECANCELED);
    for (unsigned seq = 1; seq <= MAX_ROUNDS; seq++)
        if (model->round[seq].cell[rank].waits < 0)
            model->round[seq].cell[rank].fetched = true;
}

static void model_tick(struct model *model)
{
    for (unsigned seq = 1; seq <= MAX_ROUNDS; seq++) {
        bool asked = false;

        for (uint32_t i = 0; i < model->n; i++)
            asked |= model->round[seq].cell[i].asked;
        if (asked && model->round[seq].phase == OPEN &&
            model->now >= model->round[seq].since + TIMEOUT * UINT64_C(1000000))
            model_fail(model, -ETIMEDOUT);
    }
}

/* -- the same to both -- */

static void do_join(struct model *model, uint32_t rank)
{
    uint64_t group;
    bool any = false;
    int want = model->joined[rank] ? -EEXIST : 0, r;

    for (uint32_t i = 0; i < model->n; i++)
        any |= model->joined[i] && !model->gone[i];
    if (model->error != 0 && !any)
        return; /* the group may be gone: this would make another one */
    if (model->error != 0)
        want = model->error;
    r = join(model->world, rank + 1, model->n, &group);
    cr_assert_eq(r, want, "join: %d, not %d; " RNG_SEED, r, want, model->rng->seed);
    if (r == 0) {
        model->joined[rank] = true;
        model->group = group;
        cr_assert_eq(show_board(model->world, rank + 1, group, board_new(model->n)), 0);
    }
}

static void do_ask(struct model *model, uint32_t rank, unsigned seq, bool write, bool ticket)
{
    int i = (int) model->world->n_probes;
    struct probe *probe;

    if (seq < 1 || seq > MAX_ROUNDS || model->group == 0)
        return;
    model->want[i] = model_ask(model, rank, seq, write, ticket, i);
    probe = ask(model->world, rank + 1, model->group, seq, ticket, write, rank % 3);
    if (ticket && probe->n_answers == 1 && probe->waiter.result == 0)
        model->round[seq].cell[rank].ticket = probe->waiter.ticket;
}

static void do_go(struct model *model, uint32_t rank);

/* Something may happen between finding who is there and asking. */
static void do_ask_all(struct model *model, uint32_t rank, unsigned seq)
{
    struct gathering gathering = { 0 };
    bool is_here = model->joined[rank] && !model->gone[rank];
    int r, i;

    if (seq > MAX_ROUNDS || model->group == 0)
        return;
    r = gather(model->world, rank + 1, model->group, seq, &gathering);
    cr_assert_eq(r, !is_here ? -EINVAL : model_gathers(model, seq) ? 0 : -EAGAIN, "%d; " RNG_SEED, r, model->rng->seed);
    if (r < 0)
        return;
    if (rng_chance(model->rng, 10))
        do_ask(model, (uint32_t) rng_below(model->rng, model->n), seq, writes(seq), rng_chance(model->rng, 30));
    else if (rng_chance(model->rng, 2))
        do_go(model, (uint32_t) rng_below(model->rng, model->n));
    i = (int) model->world->n_probes;
    model->want[i] = model_ask_all(model, rank, seq, i);
    (void) ask_all(model->world, rank + 1, model->group, seq, &gathering, NOBODY);
    gathering_done(&gathering);
}

static void do_wait(struct model *model, uint32_t rank, unsigned seq, bool patient)
{
    const struct cell *cell = &model->round[seq].cell[rank];
    int i = (int) model->world->n_probes, want = -EINVAL;

    if (cell->ticket != 0 && !cell->fetched && !model->gone[rank]) {
        if (!patient && model->round[seq].phase != OVER)
            want = -EAGAIN;
        else
            want = model_wait(model, seq, rank, i);
    }
    model->want[i] = want;
    (void) wait_for(model->world, rank + 1, cell->ticket, patient);
}

static void do_interrupt(struct model *model, size_t i)
{
    if (model->want[i] == PENDING)
        for (unsigned seq = 1; seq <= MAX_ROUNDS; seq++)
            for (uint32_t rank = 0; rank < model->n; rank++) {
                struct cell *cell = &model->round[seq].cell[rank];

                if (cell->waits == (int) i) {
                    cell->waits = -1;
                    cell->fetched |= model->gone[rank];
                    model->want[i] = -EINTR;
                }
            }
    groups_interrupt(model->world->groups, model->world->probe[i].waiter.number);
}

static void do_go(struct model *model, uint32_t rank)
{
    struct caller caller = caller_of(rank + 1);

    switch (rng_below(model->rng, 3)) {
    case 0:
        cr_assert_eq(groups_leave(model->world->groups, &caller, model->group),
                     model->joined[rank] && !model->gone[rank] ? 0 : -EINVAL);
        break;
    case 1:
        groups_process_gone(model->world->groups, caller.process);
        break;
    default:
        groups_handle_gone(model->world->groups, caller.handle);
    }
    model_gone(model, rank);
}

static void do_finish(struct model *model)
{
    struct world *world = model->world;
    int result = rng_chance(model->rng, 20) ? -EIO : 0;
    unsigned seq = (unsigned) world->at_work[0]->seq;

    for (unsigned before = 1; before < seq; before++)
        cr_assert_eq(model->round[before].phase, OVER, "out of order; " RNG_SEED, model->rng->seed);
    cr_assert_eq(model->round[seq].phase, WORK);
    settle(model, seq, result);
    world_finish(world, 0, result);
}

static void step(struct model *model)
{
    struct rng *rng = model->rng;
    uint32_t rank = (uint32_t) rng_below(rng, model->n);
    unsigned next = model->last[rank] + 1;

    switch (rng_below(rng, 22)) {
    case 0:
        do_join(model, rank);
        break;
    case 1: /* something again, or too early */
        do_ask(model, rank, (unsigned) rng_between(rng, 1, MAX_ROUNDS), rng_chance(rng, 30), rng_chance(rng, 30));
        break;
    case 2:
    case 3:
        do_ask(model, rank, model->last[rank], writes(model->last[rank]), false);
        break;
    case 4:
    case 5:
        if (model->world->n_probes > 0)
            do_interrupt(model, rng_below(rng, model->world->n_probes));
        break;
    case 6:
    case 7:
        do_wait(model, rank, (unsigned) rng_between(rng, 1, MAX_ROUNDS), rng_chance(rng, 70));
        break;
    case 8:
        model->now += rng_below(rng, 3 * SECOND);
        if (rng_chance(rng, 3))
            model->now += TIMEOUT * UINT64_C(1000000);
        model->world->now = model->now;
        model_tick(model);
        (void) groups_tick(model->world->groups);
        break;
    case 9:
        if (rng_chance(rng, 4) && model->group != 0)
            do_go(model, rank);
        break;
    case 10:
    case 11:
        if (model->world->n_at_work > 0)
            do_finish(model);
        break;
    case 12:
    case 13:
        do_ask_all(model, rank, next);
        break;
    default:
        do_ask(model, rank, next, rng_chance(rng, 1) != writes(next), rng_chance(rng, 30));
    }
}

static void compare(const struct model *model)
{
    for (size_t i = 0; i < model->world->n_probes; i++) {
        const struct probe *probe = &model->world->probe[i];

        cr_assert_leq(probe->n_answers, 1, "answered twice; " RNG_SEED, model->rng->seed);
        cr_assert_eq(state_of(probe), model->want[i], "waiter %zu: %d, not %d; " RNG_SEED, i, state_of(probe),
                     model->want[i], model->rng->seed);
    }
}

Test(group, random_lives, .timeout = 600)
{
    unsigned n = 0, n_over = 0, n_errors[200] = { 0 };

    for (struct rng rng = rng_from_env(2000); rng_next(&rng); n++) {
        struct model *model = calloc(1, sizeof *model);
        uint32_t n_steps = (uint32_t) rng_between(&rng, 20, 1500);

        cr_assert_not_null(model);
        model->world = world_new(NULL);
        model->rng = &rng;
        model->now = model->world->now;
        model->n = (uint32_t) (rng_chance(&rng, 70) ? rng_between(&rng, 1, 5) : rng_between(&rng, 1, MAX_RANKS));
        for (unsigned seq = 1; seq <= MAX_ROUNDS; seq++)
            for (uint32_t i = 0; i < model->n; i++)
                model->round[seq].cell[i].waits = -1;
        for (uint32_t i = 0; i < model->n; i++)
            if (rng_chance(&rng, 97))
                do_join(model, i);
        for (uint32_t i = 0; i < n_steps && model->world->n_probes < MAX_PROBES - 1; i++) {
            step(model);
            compare(model);
        }
        for (unsigned seq = 1; seq <= MAX_ROUNDS; seq++)
            n_over += model->round[seq].phase == OVER && model->round[seq].result == 0;
        n_errors[-model->error]++;
        world_free(model->world, model->n);
        free(model);
    }
    /* It must not be that nothing ever works, or fails. */
    if (getenv("FALLSFS_SEED") == NULL) {
        unsigned few = n / 40;

        cr_expect_gt(n_over, n, "%u", n_over);
        cr_expect(n_errors[0] > few && n_errors[ECANCELED] > few && n_errors[ETIMEDOUT] > few && n_errors[EPROTO] > few,
                  "%u fine, %u canceled, %u timed out, %u mismatched", n_errors[0], n_errors[ECANCELED],
                  n_errors[ETIMEDOUT], n_errors[EPROTO]);
    }
}
