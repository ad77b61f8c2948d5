/* SPDX-License-Identifier: MIT */
#include "ioctl/group_parts.h"

#include <string.h>

const struct groups_limits groups_usual_limits = {
    .groups = 4096, .ranks = 65536, .asks = 8192, .wanted = (size_t) 64 << 20
};

/* -- joining -- */

/* How long it takes tells nothing of the token. */
static bool is_token(const uint8_t a[GROUP_TOKEN], const uint8_t b[GROUP_TOKEN])
{
    uint8_t differs = 0;

    for (int i = 0; i < GROUP_TOKEN; i++)
        differs |= a[i] ^ b[i];
    return differs == 0;
}

static struct group *find_token(const struct groups *groups, const uint8_t token[GROUP_TOKEN])
{
    struct group *found = NULL;

    for (struct group *group = groups->first; group != NULL; group = group->next)
        if (!group->alone && is_token(group->token, token))
            found = group;
    return found;
}

/* What a group of this token has failed with that went before all of its ranks had come; 0: there was none. */
static int how_it_ended(const struct groups *groups, const struct caller *caller, const uint8_t token[GROUP_TOKEN])
{
    uint64_t now = groups->ops.now(groups->ctx);

    for (uint32_t i = 0; i < GROUPS_ENDED; i++) {
        const struct ended *ended = &groups->ended[i];

        if (ended->error != 0 && now < ended->until && ended->uid == caller->uid && ended->file == caller->file &&
            is_token(ended->token, token))
            return ended->error;
    }
    return 0;
}

static bool same_terms(const struct group_terms *a, const struct group_terms *b)
{
    return a->nranks == b->nranks && a->timeout == b->timeout && a->hints.domains == b->hints.domains &&
           a->hints.sieve == b->hints.sieve && a->hints.window == b->hints.window &&
           a->hints.workers == b->hints.workers;
}

static int may_join(const struct group *group, const struct caller *caller, uint32_t rank,
                    const struct group_terms *terms, const struct opener *opener)
{
    if (group->user->uid != caller->uid || group->file != caller->file)
        return -EACCES; /* and nothing else is told */
    if (group->error != 0)
        return group->error;
    if (!same_terms(&group->terms, terms))
        return -EPROTO;
    if (group->member[rank].was_here)
        return -EEXIST;
    for (const struct member *member = opener->members; member != NULL; member = member->next)
        if (member->group == group)
            return -EEXIST;
    return 0;
}

static int make_group(struct groups *groups, const struct caller *caller, const uint8_t token[GROUP_TOKEN],
                      const struct group_terms *terms, struct group **ret_group)
{
    struct group *group = NULL;
    struct user *user;
    int r = how_it_ended(groups, caller, token);

    if (r < 0)
        return r;
    user = user_find(groups, caller->uid);
    r = user == NULL ? -ENOMEM : 0;
    if (r == 0 && (user->n_groups >= user_share(user) * groups->limits.groups ||
                   terms->nranks > user_share(user) * groups->limits.ranks - user->n_ranks))
        r = -EUSERS;
    if (r == 0 && (group = group_new(groups, caller, terms, user)) == NULL)
        r = -ENOMEM;
    if (r < 0) {
        if (user != NULL)
            user_forget(groups, user);
        return r;
    }
    memcpy(group->token, token, GROUP_TOKEN);
    user->n_groups++;
    user->n_ranks += terms->nranks;
    *ret_group = group;
    return 0;
}

int groups_join(struct groups *groups, const struct caller *caller, const uint8_t token[GROUP_TOKEN], uint32_t rank,
                const struct group_terms *terms, uint64_t *ret_group)
{
    struct group *group;
    struct opener *opener;
    int r;

    pthread_mutex_lock(&groups->lock);
    group = find_token(groups, token);
    opener = opener_find(groups, caller->handle);
    r = opener == NULL ? -ENOMEM : 0;
    if (r == 0)
        r = group != NULL ? may_join(group, caller, rank, terms, opener)
                          : make_group(groups, caller, token, terms, &group);
    if (r == 0) {
        member_come(&group->member[rank], opener, caller->process);
        *ret_group = group->id;
    } else if (opener != NULL) {
        opener_forget(groups, opener);
    }
    pthread_mutex_unlock(&groups->lock);
    return r;
}

/* -- going -- */

int groups_leave(struct groups *groups, const struct caller *caller, uint64_t id)
{
    struct todo todo;
    struct member *member;
    int r;

    groups_begin(groups, &todo);
    r = member_find(groups, caller, id, &member);
    if (r == 0) {
        struct opener *opener = member->opener;

        member->group->was_left = true;
        member_gone(groups, &todo, member);
        opener_forget(groups, opener);
    }
    groups_finish(groups, &todo);
    return r;
}

static void opener_gone(struct groups *groups, struct todo *todo, struct opener *opener)
{
    while (opener->members != NULL)
        member_gone(groups, todo, opener->members);
    if (opener->poll != NULL)
        waiter_answer(groups, todo, steal(opener->poll), -EAGAIN);
    opener_forget(groups, opener);
}

void groups_handle_gone(struct groups *groups, uint64_t handle)
{
    struct todo todo;
    struct opener *opener;

    groups_begin(groups, &todo);
    opener = *opener_at(groups, handle);
    if (opener != NULL)
        opener_gone(groups, &todo, opener);
    groups_finish(groups, &todo);
}

/* The ranks of an open file that belong to the process. */
static void process_gone(struct groups *groups, struct todo *todo, struct opener *opener, uint64_t process)
{
    for (struct member *member = opener->members, *next; member != NULL; member = next) {
        next = member->next;
        if (member->process == process)
            member_gone(groups, todo, member);
    }
    opener_forget(groups, opener);
}

void groups_process_gone(struct groups *groups, uint64_t process)
{
    struct todo todo;

    groups_begin(groups, &todo);
    for (size_t i = 0; i < GROUPS_BUCKETS; i++)
        for (struct opener *opener = groups->opener[i], *next; opener != NULL; opener = next) {
            next = opener->next;
            process_gone(groups, &todo, opener, process);
        }
    groups_finish(groups, &todo);
}

/* -- the work, and time -- */

/* Each side says its own before it looks at the other's, so one of them sees both. */
bool round_begin(struct round *round)
{
    atomic_store(&round->running, true);
    return !atomic_load(&round->unwanted);
}

uint64_t round_group(const struct round *round)
{
    return round->group->id;
}

bool round_rest(struct round *round)
{
    atomic_store(&round->running, false);
    return !atomic_load(&round->unwanted);
}

void groups_done(struct groups *groups, struct round *round, int result)
{
    struct todo todo;
    struct group *group = round->group;
    struct group_stats *stats = &group->stats;

    groups_begin(groups, &todo);
    stats->calls++;
    stats->ns_wait = round->stats.ns_wait;
    stats->ns_plan = round->stats.ns_plan;
    stats->plan_reused = round->stats.plan_reused;
    stats->last = round->stats.last;
    group->at_work = NULL;
    round_over(groups, &todo, round, result);
    group_start(groups, &todo, group);
    group_tidy(groups, &todo, group);
    groups_finish(groups, &todo);
}

/* The work, or the work before it, takes too long: who waits for it need not. */
static void round_late(struct groups *groups, struct todo *todo, struct round *round)
{
    for (uint32_t i = 0; i < round->n; i++) {
        struct waiter *waiter = steal(round->entry[i].waiter);

        if (waiter == NULL)
            continue;
        waiter->entry = NULL;
        waiter_answer(groups, todo, waiter, -EIO);
        entry_fetched(groups, &round->entry[i]);
    }
}

/* Whether work without a deadline goes on, or has not begun: then it has as much time again. */
static bool round_lives(struct groups *groups, struct round *round)
{
    unsigned long n_done = atomic_load(&round->n_done);

    if (!round->no_deadline || (atomic_load(&round->running) && n_done == round->n_seen))
        return false;
    round->n_seen = n_done;
    round->deadline = groups_patience(groups);
    return true;
}

static uint64_t group_tick(struct groups *groups, struct todo *todo, struct group *group, uint64_t now)
{
    uint64_t next = UINT64_MAX;

    for (struct round *round = group->rounds; round != NULL; round = round->next) {
        if (round->state == ROUND_OVER)
            continue;
        if (now < round->deadline || (round->state != ROUND_OPEN && round_lives(groups, round)))
            next = MIN(next, round->deadline);
        else if (round->state == ROUND_OPEN)
            group_late(groups, todo, group, round);
        else
            round_late(groups, todo, round);
    }
    return next;
}

uint64_t groups_tick(struct groups *groups)
{
    struct todo todo;
    uint64_t now = groups->ops.now(groups->ctx), next = UINT64_MAX;

    groups_begin(groups, &todo);
    for (struct group *group = groups->first, *other; group != NULL; group = other) {
        uint64_t due = group_tick(groups, &todo, group, now);

        next = MIN(next, due);
        other = group->next;
        group_tidy(groups, &todo, group);
    }
    groups_finish(groups, &todo);
    return next;
}

/* -- knowing -- */

int groups_stats(struct groups *groups, const struct caller *caller, uint64_t id, struct group_stats *ret_stats)
{
    struct member *member;
    int r;

    pthread_mutex_lock(&groups->lock);
    r = member_find(groups, caller, id, &member);
    if (r == 0)
        *ret_stats = member->group->stats;
    pthread_mutex_unlock(&groups->lock);
    return r;
}

struct groups_count groups_count(struct groups *groups)
{
    struct groups_count count = { 0 };

    pthread_mutex_lock(&groups->lock);
    for (const struct group *group = groups->first; group != NULL; group = group->next) {
        count.groups++;
        count.ranks += group->n_here;
    }
    for (const struct user *user = groups->users; user != NULL; user = user->next) {
        count.users++;
        count.asks += user->n_asks;
    }
    for (size_t i = 0; i < GROUPS_BUCKETS; i++) {
        for (const struct opener *opener = groups->opener[i]; opener != NULL; opener = opener->next)
            count.openers++;
        for (const struct waiter *waiter = groups->waiter[i]; waiter != NULL; waiter = waiter->next_number)
            count.waiters++;
    }
    pthread_mutex_unlock(&groups->lock);
    return count;
}

/* -- life -- */

int groups_new(const struct groups_ops *ops, void *ctx, const struct groups_limits *limits, struct groups **ret_groups)
{
    struct groups *groups = calloc(1, sizeof *groups);

    if (groups == NULL)
        return -ENOMEM;
    groups->ops = *ops;
    groups->ctx = ctx;
    groups->limits = *limits;
    pthread_mutex_init(&groups->lock, NULL);
    *ret_groups = groups;
    return 0;
}

void groups_free(struct groups *groups)
{
    struct todo todo;

    if (groups == NULL)
        return;
    groups_begin(groups, &todo);
    for (size_t i = 0; i < GROUPS_BUCKETS; i++)
        while (groups->opener[i] != NULL)
            opener_gone(groups, &todo, groups->opener[i]);
    groups_finish(groups, &todo);
    pthread_mutex_destroy(&groups->lock);
    free(groups);
}
