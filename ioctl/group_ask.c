/* SPDX-License-Identifier: MIT */
#include "ioctl/group_parts.h"

/* -- waiters -- */

uint64_t groups_expect(struct groups *groups, struct waiter *waiter)
{
    pthread_mutex_lock(&groups->lock);
    waiter->number = ++groups->last_number;
    waiter->next_number = groups->waiter[waiter->number % GROUPS_BUCKETS];
    groups->waiter[waiter->number % GROUPS_BUCKETS] = waiter;
    pthread_mutex_unlock(&groups->lock);
    return waiter->number;
}

/* -- asking -- */

/* Whether the work goes on in memory that is the caller's again, once it has been answered. */
static bool must_be_over(struct round *round)
{
    atomic_store(&round->unwanted, true);
    return round->state == ROUND_AT_WORK && atomic_load(&round->running);
}

/* Who waits is interrupted. The request stands, unless nobody will come back for it: the rank is gone, or is none. */
static void go_without(struct groups *groups, struct todo *todo, struct entry *entry)
{
    bool is_last_word = entry->round->group->alone && entry->ticket == 0;
    struct waiter *waiter;

    if (is_last_word && must_be_over(entry->round))
        return; /* that is soon */
    waiter = steal(entry->waiter);
    waiter->entry = NULL;
    waiter_answer(groups, todo, waiter, -EINTR);
    if (member_of(entry)->opener == NULL || is_last_word)
        entry_fetched(groups, entry);
}

/* Waits for the entry's result, or takes it. */
static void await(struct groups *groups, struct todo *todo, struct entry *entry, struct waiter *waiter)
{
    struct group *group = entry->round->group;

    if (entry->waiter != NULL) {
        waiter_answer(groups, todo, waiter, -EBUSY); /* somebody else does */
        return;
    }
    entry->waiter = waiter;
    waiter->entry = entry;
    if (entry->round->state == ROUND_OVER) {
        entry_tell(groups, todo, entry);
        group_tidy(groups, todo, group);
    } else if (waiter->interrupted) {
        go_without(groups, todo, entry);
    }
}

static int may_ask(const struct groups *groups, const struct user *user, const struct ask *ask)
{
    if (user->n_asks >= user_share(user) * groups->limits.asks ||
        ask->wanted->cost > user_share(user) * groups->limits.wanted - user->wanted)
        return -EUSERS;
    return 0;
}

/* Puts the ask into its entry. */
static void enter(struct groups *groups, struct entry *entry, struct ask *ask, bool ticket)
{
    struct round *round = entry->round;
    struct user *user = round->group->user;

    entry->ask = ask;
    entry->asked = true;
    entry->bytes = wanted_size(ask->wanted);
    entry->ticket = ticket ? ++groups->last_ticket : 0;
    user->n_asks++;
    user->wanted += ask->wanted->cost;
    round->bytes += entry->bytes;
    round->n_asked++;
    round->n_unfetched++;
}

/* The first of a round says which way it goes; the last one makes it ready. */
static void ask_first(struct groups *groups, struct round *round, const struct ask *ask)
{
    round->write = ask->write;
    round->first_ask = groups->ops.now(groups->ctx);
    round->deadline =
        round->no_deadline ? UINT64_MAX : round->first_ask + (uint64_t) round->group->terms.timeout * 1000000;
}

static void ask_last(struct groups *groups, struct todo *todo, struct round *round)
{
    round->state = ROUND_READY;
    round->deadline = groups_patience(groups);
    round->stats.ns_wait = groups->ops.now(groups->ctx) - round->first_ask;
    group_start(groups, todo, round->group);
}

static uint32_t rounds_ahead(const struct group *group, uint32_t rank)
{
    uint32_t n = 0;

    for (const struct round *round = group->rounds; round != NULL; round = round->next)
        n += round->entry[rank].asked && !round->entry[rank].fetched;
    return n;
}

/* A round the rank has asked for before: 0 and its entry, when it is the same request. */
static int ask_again(struct group *group, uint32_t rank, uint64_t seq, const struct ask *ask, struct entry **ret_entry)
{
    struct round *round = round_find(group, seq);
    struct entry *entry = round != NULL ? &round->entry[rank] : NULL;

    if (entry == NULL || !entry->asked || entry->fetched)
        return -EPROTO; /* that has been answered */
    if (entry->ask != NULL && (entry->ask->write != ask->write || entry->ask->buf != ask->buf ||
                               !wanted_equal(entry->ask->wanted, ask->wanted)))
        return -EPROTO;
    *ret_entry = entry;
    return 0;
}

/* A result nobody came back for is not waited for any longer once its rank goes on. */
static void give_up(struct groups *groups, struct group *group, uint32_t rank)
{
    for (struct round *round = group->rounds; round != NULL; round = round->next)
        if (round->entry[rank].waiter == NULL && round->entry[rank].ticket == 0)
            entry_fetched(groups, &round->entry[rank]);
}

static int ask_anew(struct groups *groups, struct todo *todo, struct member *member, uint64_t seq, struct ask *ask,
                    bool ticket, struct entry **ret_entry)
{
    struct group *group = member->group;
    uint32_t rank = (uint32_t) (member - group->member);
    struct round *round = round_find(group, seq);
    int r = group->error;

    if (r == 0)
        r = seq == member->seq + 1 ? may_ask(groups, group->user, ask) : -EPROTO;
    if (r == 0 && rounds_ahead(group, rank) >= GROUP_MAX_AHEAD)
        r = -EUSERS;
    if (r == 0 && round != NULL && round->write != ask->write) {
        group_blame(&group->stats, rank);
        group_fail(groups, todo, group, -EPROTO);
        group_tidy(groups, todo, group);
        r = -EPROTO;
    }
    if (r < 0)
        return r;
    give_up(groups, group, rank);
    if (round == NULL) {
        round = round_new(group, seq);
        if (round == NULL)
            return -ENOMEM;
        ask_first(groups, round, ask);
    }
    member->seq = seq;
    enter(groups, &round->entry[rank], ask, ticket);
    if (round->n_asked == round->n)
        ask_last(groups, todo, round);
    *ret_entry = &round->entry[rank];
    return 0;
}

/* A ticket's answer is the ticket. */
static void ask_answer(struct groups *groups, struct todo *todo, struct entry *entry, bool ticket,
                       struct waiter *waiter)
{
    waiter->accepted = true;
    if (ticket) {
        waiter->ticket = entry->ticket;
        waiter->bytes = entry->bytes;
        waiter_answer(groups, todo, waiter, 0);
    } else {
        await(groups, todo, entry, waiter);
    }
}

void groups_ask(struct groups *groups, const struct caller *caller, uint64_t id, uint64_t seq, bool ticket,
                struct ask *ask, struct waiter *waiter)
{
    struct todo todo;
    struct member *member = NULL;
    struct entry *entry = NULL;
    bool anew = false;
    int r;

    groups_begin(groups, &todo);
    r = member_find(groups, caller, id, &member);
    if (r == 0) {
        anew = seq > member->seq;
        r = anew ? ask_anew(groups, &todo, member, seq, ask, ticket, &entry)
                 : ask_again(member->group, (uint32_t) (member - member->group->member), seq, ask, &entry);
    }
    if (r < 0 || !anew)
        todo_drop(&todo, ask);
    if (r == 0 && !ticket != (entry->ticket == 0))
        r = -EPROTO;
    if (r < 0)
        waiter_answer(groups, &todo, waiter, r);
    else
        ask_answer(groups, &todo, entry, ticket, waiter);
    groups_finish(groups, &todo);
}

/* -- asking for all -- */

int groups_board(struct groups *groups, const struct caller *caller, uint64_t id, struct board *offered,
                 struct board **ret_board)
{
    struct member *member;
    int r;

    pthread_mutex_lock(&groups->lock);
    r = member_find(groups, caller, id, &member);
    if (r == 0 && member->group->board == NULL && offered != NULL && offered->nranks == member->group->terms.nranks)
        member->group->board = steal(offered);
    if (r == 0 && member->group->board == NULL)
        r = -ENOENT;
    if (r == 0) {
        *ret_board = member->group->board;
        board_ref(*ret_board);
    }
    pthread_mutex_unlock(&groups->lock);
    board_put(offered);
    return r;
}

/* Whether it is the next round for all ranks, and none of them has failed, or gone. */
static bool all_can_ask(const struct group *group, uint64_t seq)
{
    for (uint32_t i = 0; i < group->terms.nranks; i++)
        if (group->member[i].opener == NULL || group->member[i].seq + 1 != seq ||
            rounds_ahead(group, i) >= GROUP_MAX_AHEAD)
            return false;
    return group->error == 0;
}

int groups_gather(struct groups *groups, const struct caller *caller, uint64_t id, uint64_t seq,
                  struct gathering *ret_gathering)
{
    struct gathering gathering = { 0 };
    struct member *member;
    int r;

    pthread_mutex_lock(&groups->lock);
    r = member_find(groups, caller, id, &member);
    if (r == 0 && (member->group->board == NULL || !all_can_ask(member->group, seq)))
        r = -EAGAIN;
    if (r == 0) {
        gathering.n = member->group->terms.nranks;
        gathering.handle = calloc(gathering.n, sizeof *gathering.handle);
        r = gathering.handle == NULL ? -ENOMEM : 0;
    }
    if (r == 0) {
        for (uint32_t i = 0; i < gathering.n; i++)
            gathering.handle[i] = member->group->member[i].opener->handle;
        gathering.board = member->group->board;
        board_ref(gathering.board);
        *ret_gathering = gathering;
    }
    pthread_mutex_unlock(&groups->lock);
    return r;
}

void gathering_done(struct gathering *gathering)
{
    board_put(gathering->board);
    free(gathering->handle);
    *gathering = (struct gathering){ 0 };
}

/* That the ranks are those who were gathered, and may ask for this. */
static int may_ask_all(const struct groups *groups, const struct group *group, uint64_t seq,
                       const struct gathering *gathering, struct ask *const ask[])
{
    const struct user *user = group->user;
    const uint64_t share = user_share(user);
    size_t wanted = 0;

    if (!all_can_ask(group, seq) || user->n_asks + gathering->n > share * groups->limits.asks)
        return -EAGAIN;
    for (uint32_t i = 0; i < gathering->n; i++) {
        if (group->member[i].opener->handle != gathering->handle[i] || ask[i]->write != ask[0]->write)
            return -EAGAIN;
        wanted += ask[i]->wanted->cost;
    }
    return wanted <= share * groups->limits.wanted - user->wanted ? 0 : -EAGAIN;
}

static int ask_for_all(struct groups *groups, struct todo *todo, struct group *group, uint64_t seq,
                       struct ask *const ask[], uint64_t ns_wait)
{
    struct round *round = round_new(group, seq);

    if (round == NULL)
        return -EAGAIN;
    ask_first(groups, round, ask[0]);
    round->first_ask -= MIN(ns_wait, round->first_ask);
    for (uint32_t i = 0; i < round->n; i++) {
        give_up(groups, group, i);
        group->member[i].seq = seq;
        enter(groups, &round->entry[i], ask[i], false);
    }
    ask_last(groups, todo, round);
    return 0;
}

void groups_ask_all(struct groups *groups, const struct caller *caller, uint64_t id, uint64_t seq,
                    const struct gathering *gathering, struct ask *const ask[], uint64_t ns_wait, struct waiter *waiter)
{
    struct todo todo;
    struct member *member = NULL;
    int r;

    groups_begin(groups, &todo);
    r = member_find(groups, caller, id, &member);
    if (r == 0)
        r = may_ask_all(groups, member->group, seq, gathering, ask);
    if (r == 0)
        r = ask_for_all(groups, &todo, member->group, seq, ask, ns_wait);
    for (uint32_t i = 0; r < 0 && i < gathering->n; i++)
        todo_drop(&todo, ask[i]);
    if (r < 0)
        waiter_answer(groups, &todo, waiter, r);
    else
        ask_answer(groups, &todo, &round_find(member->group, seq)->entry[member - member->group->member], false,
                   waiter);
    groups_finish(groups, &todo);
}

/* -- asking alone -- */

/* A group of one, gone again when its only round is over and fetched. */
static int ask_as_group(struct groups *groups, struct todo *todo, const struct caller *caller, struct ask *ask,
                        bool ticket, struct entry **ret_entry)
{
    const struct group_terms terms = { .nranks = 1, .hints = ask->hints };
    struct user *user = user_find(groups, caller->uid);
    struct opener *opener = opener_find(groups, caller->handle);
    struct group *group = NULL;
    int r = user != NULL && opener != NULL ? may_ask(groups, user, ask) : -ENOMEM;

    if (r == 0 && (group = group_new(groups, caller, &terms, user)) == NULL)
        r = -ENOMEM;
    if (r == 0) {
        group->alone = true;
        member_come(&group->member[0], opener, 0);
        r = ask_anew(groups, todo, &group->member[0], 1, ask, ticket, ret_entry);
        if (r < 0)
            member_gone(groups, todo, &group->member[0]);
        user = NULL;
    }
    if (r < 0 && opener != NULL)
        opener_forget(groups, opener);
    if (r < 0 && user != NULL)
        user_forget(groups, user);
    return r;
}

void groups_ask_alone(struct groups *groups, const struct caller *caller, bool ticket, struct ask *ask,
                      struct waiter *waiter)
{
    struct todo todo;
    struct entry *entry = NULL;
    int r;

    groups_begin(groups, &todo);
    r = ask_as_group(groups, &todo, caller, ask, ticket, &entry);
    if (r < 0) {
        todo_drop(&todo, ask);
        waiter_answer(groups, &todo, waiter, r);
    } else {
        ask_answer(groups, &todo, entry, ticket, waiter);
    }
    groups_finish(groups, &todo);
}

/* -- waiting -- */

static struct entry *find_ticket(const struct opener *opener, uint64_t ticket)
{
    for (struct member *member = opener != NULL ? opener->members : NULL; member != NULL; member = member->next)
        for (struct round *round = member->group->rounds; round != NULL; round = round->next) {
            struct entry *entry = &round->entry[member - member->group->member];

            if (entry->ticket == ticket && entry->asked && !entry->fetched)
                return entry;
        }
    return NULL;
}

void groups_wait(struct groups *groups, const struct caller *caller, uint64_t ticket, bool patient,
                 struct waiter *waiter)
{
    struct todo todo;
    struct entry *entry;
    int r = 0;

    groups_begin(groups, &todo);
    entry = ticket != 0 ? find_ticket(*opener_at(groups, caller->handle), ticket) : NULL;
    if (entry == NULL)
        r = -EINVAL;
    else if (!entry->round->group->alone && member_of(entry)->process != caller->process)
        r = -EPERM;
    else if (!patient && entry->round->state != ROUND_OVER)
        r = -EAGAIN;
    if (r < 0)
        waiter_answer(groups, &todo, waiter, r);
    else
        await(groups, &todo, entry, waiter);
    groups_finish(groups, &todo);
}

void groups_interrupt(struct groups *groups, uint64_t number)
{
    struct todo todo;
    struct waiter *waiter;

    groups_begin(groups, &todo);
    waiter = groups->waiter[number % GROUPS_BUCKETS];
    while (waiter != NULL && waiter->number != number)
        waiter = waiter->next_number;
    if (waiter != NULL)
        waiter->interrupted = true;
    if (waiter != NULL && waiter->entry != NULL) {
        struct group *group = waiter->entry->round->group;

        go_without(groups, &todo, waiter->entry);
        group_tidy(groups, &todo, group);
    }
    groups_finish(groups, &todo);
}

static int tickets_of(const struct opener *opener)
{
    int state = GROUPS_NO_TICKETS;

    for (struct member *member = opener != NULL ? opener->members : NULL; member != NULL; member = member->next)
        for (struct round *round = member->group->rounds; round != NULL; round = round->next) {
            const struct entry *entry = &round->entry[member - member->group->member];

            if (entry->ticket == 0 || entry->fetched)
                continue;
            if (round->state == ROUND_OVER)
                return GROUPS_READY;
            state = GROUPS_PENDING;
        }
    return state;
}

int groups_poll(struct groups *groups, const struct caller *caller, struct waiter *waiter)
{
    struct todo todo;
    struct opener *opener;
    int state;

    groups_begin(groups, &todo);
    opener = *opener_at(groups, caller->handle);
    state = tickets_of(opener);
    if (waiter != NULL && state == GROUPS_PENDING) {
        if (opener->poll != NULL)
            waiter_answer(groups, &todo, opener->poll, -EAGAIN);
        opener->poll = waiter;
    } else if (waiter != NULL) {
        waiter_answer(groups, &todo, waiter, -EAGAIN);
    }
    groups_finish(groups, &todo);
    return state;
}
