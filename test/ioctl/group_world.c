/* SPDX-License-Identifier: MIT */
#include "test/ioctl/group_world.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

const uint8_t token[GROUP_TOKEN] = "fifteen bytes .";

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

struct world *world_new(const struct groups_limits *limits)
{
    static const struct groups_ops ops = { world_now, world_start, world_drop, world_failed };
    struct world *world = calloc(1, sizeof *world);

    cr_assert_not_null(world);
    world->now = 1000 * SECOND;
    wanted_cache_init(&world->cache, NULL);
    cr_assert_eq(groups_new(&ops, world, limits != NULL ? limits : &groups_usual_limits, &world->groups), 0);
    return world;
}

void world_finish(struct world *world, size_t i, int result)
{
    struct round *round = world->at_work[i];

    world->at_work[i] = world->at_work[--world->n_at_work];
    groups_done(world->groups, round, result);
}

void world_free(struct world *world, uint64_t n_handles)
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

struct probe *probe_new(struct world *world)
{
    struct probe *probe = &world->probe[world->n_probes++];

    cr_assert_leq(world->n_probes, (size_t) MAX_PROBES);
    probe->waiter.answer = note_answer;
    (void) groups_expect(world->groups, &probe->waiter);
    return probe;
}

struct ask *ask_new(struct world *world, bool write, uint64_t n)
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

struct caller caller_of(uint64_t n)
{
    return (struct caller){ .file = 7, .handle = n, .process = 100 + n, .uid = 1000 };
}

struct group_terms terms_of(uint32_t nranks)
{
    return (struct group_terms){ .nranks = nranks, .timeout = TIMEOUT };
}

int join(struct world *world, uint64_t n, uint32_t nranks, uint64_t *ret_group)
{
    struct caller caller = caller_of(n);
    struct group_terms terms = terms_of(nranks);

    return groups_join(world->groups, &caller, token, (uint32_t) n - 1, &terms, ret_group);
}

struct probe *ask(struct world *world, uint64_t n, uint64_t group, uint64_t seq, bool ticket, bool write,
                  uint64_t bytes)
{
    struct caller caller = caller_of(n);
    struct probe *probe = probe_new(world);

    groups_ask(world->groups, &caller, group, seq, ticket, ask_new(world, write, bytes), &probe->waiter);
    return probe;
}

struct probe *wait_for(struct world *world, uint64_t n, uint64_t ticket, bool patient)
{
    struct caller caller = caller_of(n);
    struct probe *probe = probe_new(world);

    groups_wait(world->groups, &caller, ticket, patient, &probe->waiter);
    return probe;
}

int state_of(const struct probe *probe)
{
    return probe->n_answers == 0 ? PENDING : probe->waiter.result;
}

uint64_t group_of(struct world *world, uint32_t nranks)
{
    uint64_t group = 0;

    for (uint32_t n = 1; n <= nranks; n++)
        cr_assert_eq(join(world, n, nranks, &group), 0);
    return group;
}

struct board *board_new(uint32_t nranks)
{
    struct board *board = calloc(1, sizeof *board);

    cr_assert_not_null(board);
    atomic_init(&board->refs, 1);
    board->nranks = nranks;
    board->free = (void (*)(struct board *)) free;
    return board;
}

int show_board(struct world *world, uint64_t n, uint64_t group, struct board *offered)
{
    struct caller caller = caller_of(n);
    struct board *board = NULL;
    int r = groups_board(world->groups, &caller, group, offered, &board);

    board_put(board);
    return r;
}

int gather(struct world *world, uint64_t n, uint64_t group, uint64_t seq, struct gathering *ret_gathering)
{
    struct caller caller = caller_of(n);

    return groups_gather(world->groups, &caller, group, seq, ret_gathering);
}

struct probe *ask_all(struct world *world, uint64_t n, uint64_t group, uint64_t seq, const struct gathering *gathering,
                      uint32_t odd_one)
{
    struct caller caller = caller_of(n);
    struct probe *probe = probe_new(world);
    struct ask *asks[4096];

    for (uint32_t i = 0; i < gathering->n; i++)
        asks[i] = ask_new(world, writes(seq) != (i == odd_one), i % 3);
    groups_ask_all(world->groups, &caller, group, seq, gathering, asks, SECOND, &probe->waiter);
    return probe;
}
