/* SPDX-License-Identifier: MIT */
/* Random lives of groups beside a model that is too simple to be wrong. */
#include "test/ioctl/group_world.h"
#include "test/support/rng.h"

#include <criterion/criterion.h>

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
    uint64_t group, now, until; /* when it has failed, ranks that have not come are told so until then */
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
    model->until = model->now + TIMEOUT * UINT64_C(1000000);
    for (unsigned seq = 1; seq <= MAX_ROUNDS; seq++)
        if (model->round[seq].phase == OPEN)
            settle(model, seq, error);
}

/* What the model answers a rank that waits for the result of a round. */
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

static unsigned n_too_late; /* ranks that came when all others had gone */

static void do_join(struct model *model, uint32_t rank)
{
    uint64_t group;
    bool any = false, all_came = true;
    int want = model->joined[rank] ? -EEXIST : 0, r;

    for (uint32_t i = 0; i < model->n; i++) {
        any |= model->joined[i] && !model->gone[i];
        all_came &= model->joined[i];
    }
    if (model->error != 0 && !any && (all_came || model->now >= model->until))
        return; /* the group may be gone: this would make another one */
    n_too_late += model->error != 0 && !any;
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

/* Asks for all ranks. Something may happen between finding who is there and asking. */
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
        bool all_go;

        cr_assert_not_null(model);
        model->world = world_new(NULL);
        model->rng = &rng;
        model->now = model->world->now;
        model->n = (uint32_t) (rng_chance(&rng, 70) ? rng_between(&rng, 1, 5) : rng_between(&rng, 1, MAX_RANKS));
        for (unsigned seq = 1; seq <= MAX_ROUNDS; seq++)
            for (uint32_t i = 0; i < model->n; i++)
                model->round[seq].cell[i].waits = -1;
        all_go = rng_chance(&rng, 10);
        for (uint32_t i = 0; i < model->n; i++)
            if (rng_chance(&rng, all_go ? 50 : 97))
                do_join(model, i);
        for (uint32_t i = 0; all_go && model->group != 0 && i < model->n; i++)
            do_go(model, i);
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

        cr_expect_gt(n_too_late, few, "%u came too late", n_too_late);
        cr_expect_gt(n_over, n, "%u", n_over);
        cr_expect(n_errors[0] > few && n_errors[ECANCELED] > few && n_errors[ETIMEDOUT] > few && n_errors[EPROTO] > few,
                  "%u fine, %u canceled, %u timed out, %u mismatched", n_errors[0], n_errors[ECANCELED],
                  n_errors[ETIMEDOUT], n_errors[EPROTO]);
    }
}
