/* SPDX-License-Identifier: MIT */
#include "fs/learn/grow.h"

#define MAX_GRID 4 /* dimensions that are divided, of which one may grow */

/* -- all accesses that follow from a habit -- */

struct emitted {
    uint64_t off, end;
    uint64_t turn; /* which access of its rank in this stage it is; where ranks take turns the same for all */
    uint32_t rank;
    bool writes;
};

static int by_turn(const void *a, const void *b)
{
    const struct emitted *x = a, *y = b;

    if (x->turn != y->turn)
        return x->turn < y->turn ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->off < y->off ? -1 : x->off > y->off;
}

struct emitting {
    const struct habit *habit;
    struct emitted *emitted;
    size_t n;
};

/* Adds what a rank does in a stage; rank is the one of the group, shown the one of all. */
static int emit_rank(struct emitting *emitting, const struct habit_group *group, uint32_t rank, uint32_t shown,
                     uint32_t stage)
{
    uint64_t off, end, turn = 0;

    for (uint32_t i = 0; i < group->n_passes; i++) {
        const struct habit_pass *pass = &emitting->habit->pass[group->first_pass + i];
        struct habit_walk walk;

        if (pass->stage != stage)
            continue;
        habit_walk_init(&walk, pass, rank);
        while (habit_walk_next(&walk, &off, &end)) {
            if (emitting->n == TOUCH_MAX)
                return -E2BIG;
            if (!array_grow(emitting->emitted, emitting->n))
                return -ENOMEM;
            emitting->emitted[emitting->n++] = (struct emitted){ off, end, turn++, shown, pass->writes };
        }
    }
    return 0;
}

static int emit_stage(struct emitting *emitting, uint32_t stage)
{
    const struct habit *habit = emitting->habit;
    size_t before = emitting->n;
    uint32_t shown = 0;
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < habit->n_groups; i++)
        for (uint32_t rank = 0; r == 0 && rank < habit->group[i].n_ranks; rank++)
            r = emit_rank(emitting, &habit->group[i], rank, shown++, stage);
    if (r == 0 && !habit->in_turn[stage] && emitting->n > before)
        qsort(&emitting->emitted[before], emitting->n - before, sizeof *emitting->emitted, by_turn);
    return r;
}

/* Makes touches of them. Ranks are numbered by first access again. */
static int make_touches(const struct emitting *emitting, struct touches *touches)
{
    uint32_t n_ranks = emitting->habit->n_ranks;
    cleanup(freep) uint32_t *rank = malloc(n_ranks * sizeof *rank);

    *touches = (struct touches){ .touch = malloc(MAX(emitting->n, 1) * sizeof *touches->touch),
                                 .process = malloc(n_ranks * sizeof *touches->process),
                                 .first = malloc(n_ranks * sizeof *touches->first),
                                 .n = emitting->n,
                                 .accesses = emitting->n };
    if (rank == NULL || touches->touch == NULL || touches->process == NULL || touches->first == NULL)
        return -ENOMEM;
    memset(rank, 0xff, n_ranks * sizeof *rank);
    for (size_t i = 0; i < emitting->n; i++) {
        const struct emitted *one = &emitting->emitted[i];

        if (rank[one->rank] == UINT32_MAX) {
            touches->process[touches->n_ranks] = TRACE_NOBODY;
            touches->first[touches->n_ranks] = i;
            rank[one->rank] = touches->n_ranks++;
        }
        touches->touch[i] = (struct touch){ one->off, one->end, i, rank[one->rank], one->writes, false };
        touches->end = MAX(touches->end, one->end);
        *(one->writes ? &touches->bytes_written : &touches->bytes_read) += one->end - one->off;
    }
    return 0;
}

static int emit(const struct habit *habit, struct touches *touches)
{
    struct emitting emitting = { .habit = habit };
    int r = 0;

    *touches = (struct touches){ 0 };
    for (uint32_t stage = 0; r == 0 && stage < habit->n_stages; stage++)
        r = emit_stage(&emitting, stage);
    if (r == 0)
        r = make_touches(&emitting, touches);
    if (r < 0)
        touches_done(touches);
    free(emitting.emitted);
    return r;
}

/* -- whether a second trace is foretold -- */

/* What one rank was seen to do. */
struct seen {
    const struct touches *touches;
    const uint32_t *touch;
    size_t n;
    bool is_merged; /* the last one may have only begun */
};

/* Whether a rank of a group would begin with what was seen. */
static bool begins_so(const struct habit *habit, const struct habit_group *group, uint32_t rank,
                      const struct seen *seen)
{
    size_t k = 0;

    for (uint32_t i = 0; i < group->n_passes && k < seen->n; i++) {
        const struct habit_pass *pass = &habit->pass[group->first_pass + i];
        struct habit_walk walk;
        uint64_t off, end;

        habit_walk_init(&walk, pass, rank);
        while (k < seen->n && habit_walk_next(&walk, &off, &end)) {
            const struct touch *touch = &seen->touches->touch[seen->touch[k++]];
            bool may_be_short = seen->is_merged && k == seen->n;

            if (touch->off != off || touch->writes != pass->writes ||
                (may_be_short ? touch->end > end : touch->end != end))
                return false;
        }
    }
    return k == seen->n;
}

/* Ranks of a habit that may be the ones that were seen. */
struct casting {
    const struct habit *habit;
    bool *taken;   /* somebody was that one already */
    uint32_t next; /* mostly ranks were seen in order, so this one is asked first */
};

/* Finds a rank from next on, or before it, that nobody has been yet and that would begin so. */
static bool find_rank(struct casting *casting, const struct seen *seen, bool before)
{
    const struct habit *habit = casting->habit;
    uint32_t shown = 0;

    for (uint32_t i = 0; i < habit->n_groups; i++)
        for (uint32_t rank = 0; rank < habit->group[i].n_ranks; rank++, shown++)
            if ((shown < casting->next) == before && !casting->taken[shown] &&
                begins_so(habit, &habit->group[i], rank, seen)) {
                casting->taken[shown] = true;
                casting->next = shown + 1;
                return true;
            }
    return false;
}

static int foretells(const struct habit *habit, const struct touches *touches, bool is_merged, bool *ret_is)
{
    cleanup(freep) bool *taken = calloc(MAX(habit->n_ranks, 1), sizeof *taken);
    cleanup(freep) uint32_t *touch = NULL;
    cleanup(freep) size_t *first = NULL;
    struct casting casting = { habit, taken, 0 };
    int r = taken == NULL ? -ENOMEM : touches_by_rank(touches, &touch, &first);

    *ret_is = true;
    for (uint32_t rank = 0; r == 0 && *ret_is && rank < touches->n_ranks; rank++) {
        const struct seen seen = { touches, &touch[first[rank]], first[rank + 1] - first[rank], is_merged };

        *ret_is = find_rank(&casting, &seen, false) || find_rank(&casting, &seen, true);
    }
    return r;
}

/* Sizes that the file of a second trace may have had. A trace that touches less than the file has says it. Else it may
 * be as large as the first one, or end with the last byte touched, or grow with the processes. Only if nothing follows
 * from any of these, the trace is of as many processes, and so a short one, the first accesses tell it. */
static size_t guess_sizes(const struct habit *habit, const struct predicting *predicting, const struct rule *rule,
                          bool is_short, uint64_t ret_size[static 3])
{
    const struct touches *one = predicting->touches, *two = predicting->also;
    const struct touch *a = one->touch, *b = two->touch;
    size_t n = 0;

    if (predicting->also_size > two->end) {
        ret_size[n++] = predicting->also_size;
    } else if (!is_short) {
        ret_size[n++] = habit->size;
        ret_size[n++] = two->end;
        ret_size[n++] = habit_size_of(habit, two->n_ranks, rule);
    } else if (one->n_ranks == two->n_ranks) {
        double size = (double) habit->size;

        ret_size[n++] = (uint64_t) (size * (double) (b->end - b->off) / (double) (a->end - a->off) + 0.5);
        if (one->n_ranks > 1 && a[one->first[1]].off > 0)
            ret_size[n++] = (uint64_t) (size * (double) b[two->first[1]].off / (double) a[one->first[1]].off + 0.5);
    }
    return n;
}

static int is_followed(const struct habit *habit, const struct predicting *predicting, const struct rule *rule,
                       bool is_short, bool *ret_is)
{
    uint64_t size[3];
    size_t n = guess_sizes(habit, predicting, rule, is_short, size);
    int r = 0;

    *ret_is = false;
    for (size_t i = 0; i < n && !*ret_is && r != -ENOMEM; i++) {
        const struct growing growing = { predicting->also->n_ranks, size[i], predicting->array, NULL };
        cleanup(habit_done) struct habit grown = { 0 };
        struct array ignored;

        if (size[i] < predicting->also->end)
            continue;
        r = habit_grow(habit, &growing, rule, &grown, &ignored);
        if (r == 0)
            r = foretells(&grown, predicting->also, predicting->is_merged, ret_is);
    }
    return r == -ENOMEM ? r : 0;
}

/* -- the answer -- */

struct answering {
    const struct predicting *predicting;
    const struct habit *habit;
    struct growing growing;
    struct habit grown; /* the answer so far */
    struct array array;
    bool is_known, is_followed; /* there is one; some rule foretells the second trace */
    bool is_open;               /* the traces do not tell how parts are rounded */
    bool is_short;              /* the second trace does not say how large its file was */
    struct predict_why *why;
};

static struct reading read_habit(const struct habit *habit)
{
    struct reading reading = { 0 };

    for (uint32_t i = 0; i < habit->n_groups; i++)
        for (uint32_t k = 0; k < habit->group[i].n_passes; k++) {
            const struct habit_pass *pass = &habit->pass[habit->group[i].first_pass + k];

            for (uint32_t rank = 0; rank < habit->group[i].n_ranks; rank++) {
                struct habit_walk walk;
                uint64_t off, end;

                habit_walk_init(&walk, pass, rank);
                for (; habit_walk_next(&walk, &off, &end); reading.accesses++)
                    reading.bytes += end - off;
            }
        }
    return reading;
}

/* Takes an answer. -EDOM: it is another one than before. */
static int take(struct answering *answering, struct habit *grown, const struct array *array)
{
    if (answering->is_known && !habit_equal(grown, &answering->grown)) {
        answering->why->reading[0] = read_habit(&answering->grown);
        answering->why->reading[1] = read_habit(grown);
        answering->why->failure = PREDICT_SEVERAL;
        return -EDOM;
    }
    if (!answering->is_known) {
        answering->grown = *grown;
        *grown = (struct habit){ 0 };
        answering->array = *array;
    }
    answering->is_known = true;
    return 0;
}

/* What came of some rules. */
struct outcome {
    unsigned tried, followed, grown; /* rules; those that foretell the second trace; and of these, with an answer */
};

/* Tries one rule. The first rounding that the second trace follows is taken. -EDOM: it comes to another answer than one
 * before. */
static int try_rule(struct answering *answering, struct rule rule, struct outcome *outcome)
{
    const struct predicting *predicting = answering->predicting;
    unsigned followed = 0, n = predicting->also != NULL ? HABIT_ROUNDINGS : 1;
    int r = 0;

    for (unsigned rounding = 0; r == 0 && rounding < n; rounding++) {
        cleanup(habit_done) struct habit grown = { 0 };
        struct array array = { 0 };
        bool is_it = true;

        rule.rounding = (enum habit_rounding) rounding;
        if (predicting->also != NULL)
            r = is_followed(answering->habit, predicting, &rule, answering->is_short, &is_it);
        if (r < 0 || !is_it || followed++ > 0)
            continue;
        r = habit_grow(answering->habit, &answering->growing, &rule, &grown, &array);
        if (r == 0)
            r = take(answering, &grown, &array);
        else
            r = r == -EDOM ? 1 : r;
    }
    outcome->tried++;
    outcome->followed += followed > 0;
    outcome->grown += followed > 0 && r == 0;
    answering->is_open |= followed > 1 || n == 1 || predicting->also_size < predicting->also->end;
    return MIN(r, 0);
}

static bool is_asked_for(const struct predicting *predicting, const struct rule *rule)
{
    return predicting->growth == GROWTHS || (rule->by_size == predicting->growth &&
                                             (rule->by_procs == predicting->growth || rule->by_size == GROWTH_EVENLY));
}

/* Tries all ways in which the file may grow. A second trace that leaves all of them says nothing about that; then all
 * of them must have an answer, the same. */
static int try_sizes(struct answering *answering, struct rule rule)
{
    const struct predicting *predicting = answering->predicting;
    bool is_told = predicting->new_array != NULL || predicting->growth != GROWTHS ||
                   answering->growing.size == answering->habit->size;
    struct outcome outcome = { 0 };
    int r = 0;

    for (int by_size = GROWTH_LENGTHS; r == 0 && by_size < GROWTHS; by_size++) {
        rule.by_size = (enum growth) by_size;
        if (is_asked_for(predicting, &rule))
            r = try_rule(answering, rule, &outcome);
    }
    answering->is_followed |= outcome.followed > 0;
    if (r == 0 && !is_told && outcome.followed == outcome.tried && outcome.grown > 0 && outcome.grown < outcome.tried) {
        answering->why->failure = PREDICT_SIZE;
        r = -EDOM;
    }
    return r;
}

/* Where several dimensions are divided alike, they stay so; only where that is not possible, or a second trace speaks
 * against it, one of them may grow. */
static int try_rules(struct answering *answering)
{
    int r = 0;

    for (uint32_t grid = 0; r == 0 && grid <= MAX_GRID && (grid != 1 || !answering->is_known); grid++)
        for (int by_procs = GROWTH_LENGTHS; r == 0 && by_procs < GROWTHS; by_procs++)
            r = try_sizes(answering, (struct rule){ .by_procs = (enum growth) by_procs, .grid = grid });
    return r;
}

static bool is_rounded(const struct habit *habit)
{
    for (size_t i = 0; i < habit->n_passes; i++)
        for (uint32_t d = 0; d < habit->pass[i].n_dims; d++) {
            const struct habit_dim *dim = &habit->pass[i].dim[d];

            if ((dim->roundings & (dim->roundings - 1)) != 0 && (dim->to - dim->from - dim->overlap) % dim->grid != 0)
                return true;
        }
    return false;
}

/* Whether the last dimension, in bytes, is divided in another way than it was. */
static bool is_by_bytes(const struct habit *before, const struct habit *after)
{
    for (size_t i = 0; i < after->n_passes; i++) {
        uint32_t last = after->pass[i].n_dims - 1;
        const struct habit_dim *a = &before->pass[i].dim[last], *b = &after->pass[i].dim[last];

        if (b->stride == 1 && !after->pass[i].by_array && b->grid > 1 && last > 0 &&
            (a->n != b->n || a->grid != b->grid))
            return true;
    }
    return false;
}

static int answer(struct answering *answering, struct prediction *prediction)
{
    int r = try_rules(answering);

    if (r == 0 && !answering->is_followed) {
        answering->is_short = true;
        r = try_rules(answering);
    }
    if (r == 0 && !answering->is_known) {
        answering->why->failure = answering->is_followed ? PREDICT_NONE : PREDICT_ALSO;
        r = -EDOM;
    }
    if (r == 0)
        r = emit(&answering->grown, &prediction->touches);
    if (r == 0) {
        prediction->size = answering->growing.size;
        prediction->array = answering->array;
        prediction->is_rounded = answering->is_open && is_rounded(&answering->grown);
        prediction->by_bytes = is_by_bytes(answering->habit, &answering->grown);
    }
    return r;
}

/* The size of the file when its array is another one. */
static uint64_t size_of(const struct predicting *predicting, uint64_t size)
{
    uint64_t before, then;

    if (predicting->new_array == NULL)
        return predicting->new_size > 0 ? predicting->new_size : size;
    if (array_bytes(predicting->array, &before) < 0 || array_bytes(predicting->new_array, &then) < 0)
        return size;
    return size - MIN(before, size) + then;
}

static bool may_be_more(const struct habit *habit)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < habit->n_groups; i++)
        n += habit->group[i].n_ranks > 1;
    return n == 1;
}

static int predict(struct prediction *prediction, const struct predicting *predicting, struct predict_why *why)
{
    cleanup(habit_done) struct habit habit = { 0 };
    struct answering answering = { .predicting = predicting, .habit = &habit, .why = why };
    int r;

    *why = (struct predict_why){ .failure = PREDICT_IRREGULAR };
    r = habit_init(&habit, predicting->touches, predicting->array, predicting->size, &why->rank);
    if (r < 0)
        return r;
    answering.growing = (struct growing){ predicting->procs > 0 ? predicting->procs : habit.n_ranks,
                                          size_of(predicting, habit.size), predicting->array, predicting->new_array };
    why->failure = PREDICT_FEW;
    r = answering.growing.n_ranks != habit.n_ranks && !may_be_more(&habit) ? -EDOM : answer(&answering, prediction);
    habit_done(&answering.grown);
    return r;
}

/* Takes accesses that follow each other as one. */
static int predict_merged(struct prediction *prediction, struct predicting predicting, struct predict_why *why)
{
    cleanup(touches_done) struct touches touches = { 0 }, also = { 0 };
    int r = touches_merge(predicting.touches, &touches);

    predicting.touches = &touches;
    predicting.is_merged = true;
    if (r == 0 && predicting.also != NULL) {
        r = touches_merge(predicting.also, &also);
        predicting.also = &also;
    }
    return r < 0 ? r : predict(prediction, &predicting, why);
}

int prediction_init(struct prediction *prediction, const struct predicting *predicting, struct predict_why *ret_why)
{
    int r;

    *prediction = (struct prediction){ 0 };
    if (MAX(predicting->touches->n_ranks, predicting->procs) > PREDICT_MAX_RANKS)
        return -E2BIG;
    r = predict(prediction, predicting, ret_why);
    return r == -EDOM && ret_why->failure == PREDICT_IRREGULAR ? predict_merged(prediction, *predicting, ret_why) : r;
}

void prediction_done(struct prediction *prediction)
{
    touches_done(&prediction->touches);
    *prediction = (struct prediction){ 0 };
}
