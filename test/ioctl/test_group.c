/* SPDX-License-Identifier: MIT */
/* Groups on a clock of the test's own: what each wrong call is told. */
#include "test/ioctl/group_world.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <string.h>

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
    static const uint8_t other[GROUP_TOKEN] = "fifteen bytes !";
    struct groups_limits limits = groups_usual_limits;
    struct world *world;
    struct caller caller = { row->file, row->handle, row->process, row->uid };
    struct group_terms terms = { row->nranks,
                                 { .domains = row->domains, .window = row->window, .workers = row->workers },
                                 row->timeout };
    uint64_t first, group = 0;

    limits.ranks = 4096;
    world = world_new(&limits);
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

static int join_file(struct world *world, uint64_t file, uint32_t uid)
{
    struct group_terms terms = terms_of(3);
    struct caller caller = caller_of(3);
    uint64_t group;

    caller.file = file;
    caller.uid = uid;
    return groups_join(world->groups, &caller, token, 2, &terms, &group);
}

/* Who comes when the others have come and gone is told, too, as long as they would have waited: of that file alone, and
 * nobody else is told anything. When all had come, nobody is awaited, and the token makes another group. */
Test(group, joined_when_all_others_have_gone)
{
    struct world *world = world_new(NULL);
    uint64_t group;

    cr_assert_eq(join(world, 1, 3, &group), 0);
    cr_assert_eq(join(world, 2, 3, &group), 0);
    groups_process_gone(world->groups, 101);
    groups_handle_gone(world->groups, 2);
    cr_expect_eq(join_file(world, 7, 1000), -ECANCELED);
    cr_expect_eq(join_file(world, 8, 1000), 0, "another file");
    groups_handle_gone(world->groups, 3);
    cr_expect_eq(join_file(world, 7, 1001), 0, "another user");
    groups_handle_gone(world->groups, 3);
    world->now += TIMEOUT * UINT64_C(1000000);
    for (int i = 0; i < 2; i++) {
        cr_expect_eq(join(world, 1, 3, &group), 0, "much later, or all had come");
        cr_expect_eq(join(world, 2, 3, &group), 0);
        cr_expect_eq(join(world, 3, 3, &group), 0);
        for (uint64_t handle = 1; handle <= 3; handle++)
            groups_handle_gone(world->groups, handle);
    }
    world_free(world, 3);
}

/* As many groups as the limits say are a user's, root has four times as many; another user is not concerned. */
Test(group, so_many_groups)
{
    struct groups_limits limits = groups_usual_limits;
    struct world *world;
    struct group_terms terms = terms_of(1);
    uint8_t name[GROUP_TOKEN] = { 0 };
    uint64_t group;

    limits.groups = 64;
    world = world_new(&limits);
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

/* Where one rank cannot ask for all, nothing has happened to any rank, and each can ask for itself, as far as that is
 * possible. */
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

/* -- going -- */

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
