/* SPDX-License-Identifier: MIT */
/* Groups on a clock of the test's own: how they are shown, tickets, requests without a group, work without a deadline,
 * and limits. */
#include "test/ioctl/group_world.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <string.h>

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

/* Groups are shown once each, the oldest first, to their user and to root; requests without a group are not shown. */
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

/* -- no deadline -- */

static uint64_t patient_group_of(struct world *world, uint32_t nranks)
{
    const struct group_terms terms = { .nranks = nranks, .timeout = FALLSFS_TIMEOUT_NONE };
    uint64_t group = 0;

    for (uint32_t rank = 0; rank < nranks; rank++) {
        struct caller caller = caller_of(rank + 1);

        cr_assert_eq(groups_join(world->groups, &caller, token, rank, &terms, &group), 0);
    }
    return group;
}

/* A rank may be a year behind; that it dies is noticed as ever. */
Test(group, without_a_deadline_ranks_are_waited_for)
{
    struct world *world = world_new(NULL);
    uint64_t group = patient_group_of(world, 2);
    struct probe *probe[2], *third;

    probe[0] = ask(world, 1, group, 1, false, false, 4);
    world->now += 365 * 86400 * SECOND;
    cr_expect_eq(groups_tick(world->groups), UINT64_MAX, "nothing is to be looked after");
    cr_expect_eq(state_of(probe[0]), PENDING);
    probe[1] = ask(world, 2, group, 1, false, false, 4);
    cr_assert_eq(world->n_at_work, 1);
    world->at_work[0]->file_size = 77;
    world_finish(world, 0, 0);
    cr_expect(state_of(probe[0]) == 0 && state_of(probe[1]) == 0);
    cr_expect(probe[0]->waiter.file_size == 77 && probe[1]->waiter.file_size == 77, "all are told the size");
    third = ask(world, 1, group, 2, false, false, 4);
    groups_process_gone(world->groups, caller_of(2).process);
    cr_expect_eq(state_of(third), -ECANCELED);
    world_free(world, 2);
}

/* Work may take as long as it likes when it comes forward; one that does not has until the disks' deadline. */
Test(group, without_a_deadline_work_must_come_forward)
{
    const struct groups_limits limits = {
        .groups = 64, .ranks = 4096, .asks = 64, .wanted = 1 << 20, .patience = 5 * SECOND
    };
    struct world *world = world_new(&limits);
    uint64_t group = patient_group_of(world, 1);
    struct probe *at_work = ask(world, 1, group, 1, true, false, 4), *behind;
    struct fallsfs_ioc_groups shown;

    behind = ask(world, 1, group, 2, false, false, 4);
    cr_assert_eq(world->n_at_work, 1);
    shown = shown_after(world, 1000, 0);
    cr_expect_eq(shown.ns_left, FALLSFS_NO_DEADLINE);
    for (int i = 0; i < 10; i++) { /* it waits for its turn */
        world->now += 5 * SECOND;
        cr_expect_eq(groups_tick(world->groups), world->now + 5 * SECOND);
        cr_expect_eq(state_of(behind), PENDING);
    }
    cr_assert(round_begin(world->at_work[0]));
    for (int i = 0; i < 10; i++) { /* it does a window in all that time */
        atomic_fetch_add(&world->at_work[0]->n_done, 1);
        world->now += 5 * SECOND;
        (void) groups_tick(world->groups);
        cr_expect_eq(state_of(behind), PENDING);
    }
    world->now += 5 * SECOND;
    (void) groups_tick(world->groups);
    cr_expect_eq(state_of(at_work), 0, "a ticket is asked for later");
    world_finish(world, 0, -EIO);
    cr_assert_eq(world->n_at_work, 1);
    cr_assert(round_begin(world->at_work[0]));
    world->now += 5 * SECOND;
    (void) groups_tick(world->groups);
    world->now += 5 * SECOND;
    (void) groups_tick(world->groups);
    cr_expect_eq(state_of(behind), -EIO, "no window was done since it began");
    world_free(world, 1);
}

/* What plans stand on is given back when there is no room, but not under work. */
Test(group, plans_are_forgotten)
{
    struct world *world = world_new(NULL);
    uint64_t group = group_of(world, 1);
    struct round *round;

    (void) ask(world, 1, group, 1, true, false, 4);
    round = world->at_work[0];
    round->plan->wanted = calloc(1, sizeof(struct wanted *));
    round->plan->n = 1;
    cr_assert_not_null(round->plan->wanted);
    round->plan->wanted[0] = wanted_ref(round->entry[0].ask->wanted);
    cr_assert_eq(collective_plan_new(NULL, 0, false, 0, &(struct collective_hints){ 0 },
                                     &(struct store){ .n_disks = 1 }, 1, &round->plan->plan),
                 0);
    groups_forget_plans(world->groups);
    cr_expect_not_null(round->plan->plan, "it is worked with");
    world_finish(world, 0, 0);
    (void) ask(world, 1, group, 2, true, false, 4);
    round = world->at_work[0];
    cr_expect_not_null(round->plan->plan);
    world_finish(world, 0, 0);
    groups_forget_plans(world->groups);
    (void) ask(world, 1, group, 3, true, false, 4);
    cr_expect_null(world->at_work[0]->plan->plan);
    world_free(world, 1);
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

/* When the mount ends, all who wait are answered. */
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
