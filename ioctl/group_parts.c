/* SPDX-License-Identifier: MIT */
#include "ioctl/group_parts.h"

#include <stdio.h>
#include <string.h>

#define ROOT 4 /* times as much */

void groups_begin(struct groups *groups, struct todo *todo)
{
    todo->answered = NULL;
    todo->last_answered = &todo->answered;
    todo->dropped = NULL;
    todo->start = NULL;
    todo->freed = NULL;
    todo->failed[0] = 0;
    pthread_mutex_lock(&groups->lock);
}

static void forget_plan(struct group_plan *plan)
{
    collective_plan_free(plan->plan);
    for (uint32_t i = 0; i < plan->n; i++)
        wanted_put(plan->wanted[i]);
    free(plan->wanted);
}

#define PLANS 64 /* that are taken at once */

void groups_forget_plans(struct groups *groups)
{
    struct group_plan plan[PLANS];
    uint32_t n;

    do {
        n = 0;
        pthread_mutex_lock(&groups->lock);
        for (struct group *group = groups->first; group != NULL && n < PLANS; group = group->next) {
            if (group->at_work != NULL || group->plan.plan == NULL)
                continue;
            plan[n++] = group->plan;
            group->plan = (struct group_plan){ .plan = NULL };
        }
        pthread_mutex_unlock(&groups->lock);
        for (uint32_t i = 0; i < n; i++)
            forget_plan(&plan[i]);
    } while (n == PLANS);
}

/* An answer is the last that is known of a waiter, a start the last of a round. */
void groups_finish(struct groups *groups, struct todo *todo)
{
    pthread_mutex_unlock(&groups->lock);
    while (todo->dropped != NULL) {
        struct ask *ask = todo->dropped;

        todo->dropped = ask->next;
        groups->ops.drop(groups->ctx, ask);
    }
    while (todo->freed != NULL) {
        struct group *group = todo->freed;

        todo->freed = group->next;
        forget_plan(&group->plan);
        board_put(group->board);
        free(group);
    }
    if (todo->failed[0] != 0)
        groups->ops.failed(groups->ctx, todo->failed);
    while (todo->answered != NULL) {
        struct waiter *waiter = todo->answered;

        todo->answered = waiter->next;
        waiter->answer(waiter);
    }
    if (todo->start != NULL)
        groups->ops.start(groups->ctx, todo->start);
}

/* -- waiters -- */

static void forget_number(struct groups *groups, struct waiter *waiter)
{
    struct waiter **at = &groups->waiter[waiter->number % GROUPS_BUCKETS];

    if (waiter->number == 0)
        return;
    while (*at != waiter)
        at = &(*at)->next_number;
    *at = waiter->next_number;
    waiter->number = 0;
}

void waiter_answer(struct groups *groups, struct todo *todo, struct waiter *waiter, int result)
{
    forget_number(groups, waiter);
    waiter->result = result;
    waiter->next = NULL;
    *todo->last_answered = waiter;
    todo->last_answered = &waiter->next;
}

/* -- users and what they may have -- */

struct user *user_find(struct groups *groups, uint32_t uid)
{
    struct user *user = groups->users;

    while (user != NULL && user->uid != uid)
        user = user->next;
    if (user == NULL && (user = calloc(1, sizeof *user)) != NULL) {
        user->uid = uid;
        user->next = groups->users;
        groups->users = user;
    }
    return user;
}

void user_forget(struct groups *groups, struct user *user)
{
    struct user **at = &groups->users;

    if (user->refs > 0)
        return;
    while (*at != user)
        at = &(*at)->next;
    *at = user->next;
    free(user);
}

uint32_t user_share(const struct user *user)
{
    return user->uid == 0 ? ROOT : 1;
}

/* -- open files -- */

struct opener **opener_at(struct groups *groups, uint64_t handle)
{
    struct opener **at = &groups->opener[handle % GROUPS_BUCKETS];

    while (*at != NULL && (*at)->handle != handle)
        at = &(*at)->next;
    return at;
}

struct opener *opener_find(struct groups *groups, uint64_t handle)
{
    struct opener **at = opener_at(groups, handle);

    if (*at == NULL && (*at = calloc(1, sizeof **at)) != NULL)
        (*at)->handle = handle;
    return *at;
}

void opener_forget(struct groups *groups, struct opener *opener)
{
    struct opener **at = opener_at(groups, opener->handle);

    if (opener->members != NULL || opener->poll != NULL)
        return;
    *at = opener->next;
    free(opener);
}

static void detach(struct member *member)
{
    struct member **at = &member->opener->members;

    while (*at != member)
        at = &(*at)->next;
    *at = member->next;
    member->opener = NULL;
    assert(member->group->n_here > 0);
    member->group->n_here--;
}

/* -- rounds -- */

struct round *round_new(struct group *group, uint64_t seq)
{
    uint32_t n = group->terms.nranks;
    struct round *round = calloc(1, sizeof *round + n * sizeof round->entry[0]), **at = &group->rounds;

    if (round == NULL)
        return NULL;
    round->group = group;
    round->seq = seq;
    round->n = n;
    round->alone = group->alone;
    round->no_deadline = group->terms.timeout == FALLSFS_TIMEOUT_NONE;
    round->hints = &group->terms.hints;
    round->plan = &group->plan;
    for (uint32_t i = 0; i < n; i++)
        round->entry[i].round = round;
    while (*at != NULL)
        at = &(*at)->next;
    *at = round; /* ranks ask in order: it is the last */
    return round;
}

struct round *round_find(const struct group *group, uint64_t seq)
{
    struct round *round = group->rounds;

    while (round != NULL && round->seq != seq)
        round = round->next;
    return round;
}

static uint32_t rank_of(const struct entry *entry)
{
    return (uint32_t) (entry - entry->round->entry);
}

struct member *member_of(const struct entry *entry)
{
    return &entry->round->group->member[rank_of(entry)];
}

void todo_drop(struct todo *todo, struct ask *ask)
{
    ask->next = todo->dropped;
    todo->dropped = ask;
}

static void drop_ask(struct todo *todo, struct entry *entry)
{
    if (entry->ask == NULL)
        return;
    assert(entry->round->group->user->wanted >= entry->ask->wanted->cost);
    entry->round->group->user->wanted -= entry->ask->wanted->cost;
    todo_drop(todo, steal(entry->ask));
}

void entry_fetched(struct groups *groups, struct entry *entry)
{
    struct member *member = member_of(entry);
    struct opener *opener = member->opener;

    if (!entry->asked || entry->fetched)
        return;
    entry->fetched = true;
    entry->round->n_unfetched--;
    assert(member->group->user->n_asks > 0);
    member->group->user->n_asks--;
    if (member->group->alone && opener != NULL) {
        detach(member);
        opener_forget(groups, opener);
    }
}

void entry_tell(struct groups *groups, struct todo *todo, struct entry *entry)
{
    struct waiter *waiter = steal(entry->waiter);

    waiter->entry = NULL;
    waiter->bytes = entry->bytes;
    waiter->file_size = entry->round->result == 0 ? entry->round->file_size : 0;
    waiter_answer(groups, todo, waiter, entry->round->result);
    entry_fetched(groups, entry);
}

static void wake_poll(struct groups *groups, struct todo *todo, struct opener *opener)
{
    if (opener == NULL || opener->poll == NULL)
        return;
    waiter_answer(groups, todo, steal(opener->poll), 0);
}

void round_over(struct groups *groups, struct todo *todo, struct round *round, int result)
{
    round->state = ROUND_OVER;
    round->result = result;
    for (uint32_t i = 0; i < round->n; i++) {
        struct entry *entry = &round->entry[i];

        if (entry->waiter != NULL)
            entry_tell(groups, todo, entry);
        else if (entry->ticket != 0 && !entry->fetched)
            wake_poll(groups, todo, member_of(entry)->opener);
        drop_ask(todo, entry);
    }
}

/* -- groups -- */

static bool have_all_come(const struct group *group)
{
    for (uint32_t i = 0; i < group->terms.nranks; i++)
        if (!group->member[i].was_here)
            return false;
    return true;
}

static void remember_end(struct groups *groups, const struct group *group)
{
    struct ended *ended = &groups->ended[groups->next_ended];

    if (group->alone || group->error == 0 || have_all_come(group))
        return;
    *ended =
        (struct ended){ .file = group->file, .until = group->until, .uid = group->user->uid, .error = group->error };
    memcpy(ended->token, group->token, GROUP_TOKEN);
    groups->next_ended = (groups->next_ended + 1) % GROUPS_ENDED;
}

void group_tidy(struct groups *groups, struct todo *todo, struct group *group)
{
    struct user *user = group->user;

    for (struct round **at = &group->rounds; *at != NULL;) {
        struct round *round = *at;

        if (round->state != ROUND_OVER || round->n_unfetched > 0) {
            if (group->n_here == 0 && !group->was_left && round->n_unfetched == 0)
                atomic_store(&round->unwanted, true);
            at = &round->next;
        } else {
            *at = round->next;
            free(round);
        }
    }
    if (group->n_here > 0 || group->rounds != NULL)
        return;
    remember_end(groups, group);
    if (!group->alone) {
        assert(user->n_groups > 0 && user->n_ranks >= group->terms.nranks);
        user->n_groups--;
        user->n_ranks -= group->terms.nranks;
    }
    assert(user->refs > 0);
    user->refs--;
    *group->at = group->next;
    if (group->next != NULL)
        group->next->at = group->at;
    group->next = todo->freed;
    todo->freed = group;
    user_forget(groups, user);
}

uint64_t groups_patience(const struct groups *groups)
{
    return groups->limits.patience > 0 ? groups->ops.now(groups->ctx) + groups->limits.patience : UINT64_MAX;
}

void group_start(struct groups *groups, struct todo *todo, struct group *group)
{
    struct round *round = group->rounds;

    if (group->at_work != NULL)
        return;
    while (round != NULL && round->state != ROUND_READY)
        round = round->next;
    if (round == NULL)
        return;
    round->state = ROUND_AT_WORK;
    round->deadline = groups_patience(groups);
    group->at_work = round;
    todo->start = round;
}

void group_blame(struct group_stats *stats, uint32_t rank)
{
    if (stats->n_culprits < GROUP_CULPRITS)
        stats->culprit[stats->n_culprits] = rank;
    stats->n_culprits++;
}

/* For how long ranks of a group may come, which is never for ever. */
static uint64_t ms_of_waiting(const struct group *group)
{
    return MIN(group->terms.timeout, 3600000U);
}

void group_fail(struct groups *groups, struct todo *todo, struct group *group, int error)
{
    if (group->error != 0)
        return;
    group->error = error;
    group->stats.error = error;
    group->until = groups->ops.now(groups->ctx) + ms_of_waiting(group) * UINT64_C(1000000);
    for (struct round *round = group->rounds; round != NULL; round = round->next)
        if (round->state == ROUND_OPEN)
            round_over(groups, todo, round, error);
}

static void say_who_is_missing(struct todo *todo, const struct group *group, uint64_t seq)
{
    const struct group_stats *stats = &group->stats;
    int at = snprintf(todo->failed, sizeof todo->failed,
                      "%" PRIu32 " of a group's %" PRIu32 " ranks did not ask in round %" PRIu64 " within %" PRIu32
                      " ms, so it has failed for all; missing:",
                      stats->n_culprits, group->terms.nranks, seq, group->terms.timeout);

    for (uint32_t i = 0; i < MIN(stats->n_culprits, GROUP_CULPRITS) && at < (int) sizeof todo->failed; i++)
        at += snprintf(todo->failed + at, sizeof todo->failed - (size_t) at, " %" PRIu32, stats->culprit[i]);
}

void group_late(struct groups *groups, struct todo *todo, struct group *group, struct round *round)
{
    for (uint32_t i = 0; i < round->n; i++)
        if (!round->entry[i].asked)
            group_blame(&group->stats, i);
    if (todo->failed[0] == 0) /* one line says it for all that fail at once */
        say_who_is_missing(todo, group, round->seq);
    group_fail(groups, todo, group, -ETIMEDOUT);
}

void member_gone(struct groups *groups, struct todo *todo, struct member *member)
{
    struct group *group = member->group;
    uint32_t rank = (uint32_t) (member - group->member);

    detach(member);
    if (group->error == 0 && !group->alone)
        group_blame(&group->stats, rank);
    group_fail(groups, todo, group, -ECANCELED);
    for (struct round *round = group->rounds; round != NULL; round = round->next)
        if (round->entry[rank].waiter == NULL)
            entry_fetched(groups, &round->entry[rank]);
    group_tidy(groups, todo, group);
}

struct group *group_new(struct groups *groups, const struct caller *caller, const struct group_terms *terms,
                        struct user *user)
{
    struct group *group = calloc(1, sizeof *group + terms->nranks * sizeof group->member[0]);

    if (group == NULL)
        return NULL;
    group->id = ++groups->last_id;
    group->file = caller->file;
    group->user = user;
    user->refs++;
    group->terms = *terms;
    for (uint32_t i = 0; i < terms->nranks; i++)
        group->member[i].group = group;
    group->at = &groups->first;
    group->next = groups->first;
    if (group->next != NULL)
        group->next->at = &group->next;
    groups->first = group;
    return group;
}

void member_come(struct member *member, struct opener *opener, uint64_t process)
{
    member->opener = opener;
    member->process = process;
    member->was_here = true;
    member->next = opener->members;
    opener->members = member;
    member->group->n_here++;
}

int member_find(struct groups *groups, const struct caller *caller, uint64_t id, struct member **ret_member)
{
    struct opener *opener = *opener_at(groups, caller->handle);
    struct member *member = opener != NULL ? opener->members : NULL;

    while (member != NULL && (member->group->id != id || member->group->alone))
        member = member->next;
    if (member == NULL)
        return -EINVAL;
    if (member->process != caller->process)
        return -EPERM;
    *ret_member = member;
    return 0;
}
