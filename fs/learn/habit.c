/* SPDX-License-Identifier: MIT */
#include "fs/learn/habit_pass.h"

#define MAX_PASSES 1024 /* of one rank: who goes back more often walks in no order that is a rule */
#define MAX_GROUPS 64   /* where nearly all ranks differ, there is no rule */

static void split_done(struct split *split)
{
    free(split->touch);
    free(split->first);
    free(split->pass);
    free(split->pass_of);
    free(split->group);
    free(split->place);
}

void habit_done(struct habit *habit)
{
    free(habit->group);
    free(habit->pass);
    free(habit->in_turn);
    *habit = (struct habit){ 0 };
}

/* -- who does what in which pass -- */

/* -EDOM: a rank, *ret_rank, has too many passes, or does nothing. */
static int find_passes(struct split *split, uint32_t *ret_rank)
{
    for (uint32_t rank = 0; rank < split->touches->n_ranks; rank++) {
        *ret_rank = rank;
        split->pass_of[rank] = split->n_passes;
        for (size_t i = split->first[rank]; i < split->first[rank + 1]; i++) {
            const struct touch *touch = touch_at(split, i);
            const struct touch *before = i > split->first[rank] ? touch_at(split, i - 1) : NULL;

            if (before != NULL && before->writes == touch->writes && before->end <= touch->off)
                continue;
            if (!array_grow(split->pass, split->n_passes))
                return -ENOMEM;
            split->pass[split->n_passes++] = i;
        }
        if (split->n_passes == split->pass_of[rank] || split->n_passes - split->pass_of[rank] > MAX_PASSES)
            return -EDOM;
    }
    split->pass_of[split->touches->n_ranks] = split->n_passes;
    if (!array_grow(split->pass, split->n_passes))
        return -ENOMEM;
    split->pass[split->n_passes] = split->touches->n;
    return 0;
}

static int split_init(struct split *split, const struct touches *touches, uint32_t *ret_rank)
{
    size_t n_ranks = touches->n_ranks;

    int r;

    *split = (struct split){ .touches = touches,
                             .pass_of = calloc(n_ranks + 1, sizeof *split->pass_of),
                             .group = calloc(n_ranks + 1, sizeof *split->group),
                             .place = calloc(n_ranks + 1, sizeof *split->place) };
    if (split->pass_of == NULL || split->group == NULL || split->place == NULL)
        return -ENOMEM;
    r = touches_by_rank(touches, &split->touch, &split->first);
    return r < 0 ? r : find_passes(split, ret_rank);
}

static bool does_alike(const struct split *split, uint32_t a, uint32_t b)
{
    uint32_t n = n_passes_of(split, a);

    if (n_passes_of(split, b) != n)
        return false;
    for (uint32_t pass = 0; pass < n; pass++)
        if (touch_at(split, course_of(split, a, pass).first)->writes !=
            touch_at(split, course_of(split, b, pass).first)->writes)
            return false;
    return true;
}

static int find_groups(struct habit *habit, struct split *split)
{
    cleanup(freep) uint32_t *first = NULL; /* of each group, its first rank */

    for (uint32_t rank = 0; rank < habit->n_ranks; rank++) {
        uint32_t group = 0;

        while (group < habit->n_groups && !does_alike(split, first[group], rank))
            group++;
        if (group == MAX_GROUPS)
            return -EDOM;
        if (group == habit->n_groups) {
            if (!array_grow(first, habit->n_groups) || !array_grow(habit->group, habit->n_groups))
                return -ENOMEM;
            first[group] = rank;
            habit->group[habit->n_groups++] =
                (struct habit_group){ .first_pass = (uint32_t) habit->n_passes, .n_passes = n_passes_of(split, rank) };
            habit->n_passes += n_passes_of(split, rank);
        }
        split->group[rank] = group;
        split->place[rank] = habit->group[group].n_ranks++;
    }
    habit->pass = calloc(MAX(habit->n_passes, 1), sizeof *habit->pass);
    return habit->pass == NULL ? -ENOMEM : 0;
}

/* -- what comes after what -- */

struct span {
    size_t first, last; /* touches */
    uint32_t who;
};

static int by_first(const void *a, const void *b)
{
    const struct span *x = a, *y = b;

    return x->first < y->first ? -1 : x->first > y->first;
}

static struct span span_of(const struct split *split, struct course course, uint32_t who)
{
    return (struct span){ split->touch[course.first], split->touch[course.first + course.n - 1], who };
}

static void widen(struct span *span, struct span by)
{
    span->first = MIN(span->first, by.first);
    span->last = MAX(span->last, by.last);
}

/* Passes that go on at the same time are one stage. */
static int find_stages(struct habit *habit, const struct split *split)
{
    cleanup(freep) struct span *span = calloc(MAX(habit->n_passes, 1), sizeof *span);
    size_t last = 0;

    if (span == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < habit->n_passes; i++)
        span[i] = (struct span){ SIZE_MAX, 0, i };
    for (uint32_t rank = 0; rank < habit->n_ranks; rank++)
        for (uint32_t i = 0; i < n_passes_of(split, rank); i++)
            widen(&span[habit->group[split->group[rank]].first_pass + i],
                  span_of(split, course_of(split, rank, i), rank));
    qsort(span, habit->n_passes, sizeof *span, by_first);
    for (size_t i = 0; i < habit->n_passes; i++) {
        habit->n_stages += i == 0 || span[i].first > last;
        habit->pass[span[i].who].stage = (uint32_t) habit->n_stages - 1;
        last = MAX(last, span[i].last);
    }
    return 0;
}

/* Finds the stages in which one rank does all it has to do, and then the next. */
static int find_turns(struct habit *habit, const struct split *split)
{
    cleanup(freep) struct span *span = calloc(habit->n_ranks, sizeof *span);

    habit->in_turn = calloc(MAX(habit->n_stages, 1), sizeof *habit->in_turn);
    if (habit->in_turn == NULL || span == NULL)
        return -ENOMEM;
    for (uint32_t stage = 0; stage < habit->n_stages; stage++) {
        size_t n = 0;

        for (uint32_t rank = 0; rank < habit->n_ranks; rank++) {
            struct span one = { SIZE_MAX, 0, rank };

            for (uint32_t i = 0; i < n_passes_of(split, rank); i++)
                if (habit->pass[habit->group[split->group[rank]].first_pass + i].stage == stage)
                    widen(&one, span_of(split, course_of(split, rank, i), rank));
            if (one.first != SIZE_MAX)
                span[n++] = one;
        }
        qsort(span, n, sizeof *span, by_first);
        habit->in_turn[stage] = true;
        for (size_t i = 1; i < n; i++)
            habit->in_turn[stage] &= span[i].first > span[i - 1].last;
    }
    return 0;
}

static int learn(struct habit *habit, const struct split *split, const struct array *array, uint32_t *ret_rank)
{
    int r = 0;

    for (uint32_t group = 0; r == 0 && group < habit->n_groups; group++) {
        const struct habit_group *alike = &habit->group[group];

        for (*ret_rank = 0; split->group[*ret_rank] != group;)
            (*ret_rank)++;
        for (uint32_t i = 0; r == 0 && i < alike->n_passes; i++)
            r = habit_learn_pass(split, group, alike->n_ranks, i, array, habit->size,
                                 &habit->pass[alike->first_pass + i]);
    }
    return r;
}

int habit_init(struct habit *habit, const struct touches *touches, const struct array *array, uint64_t size,
               uint32_t *ret_rank)
{
    cleanup(split_done) struct split split = { 0 };
    int r;

    *habit = (struct habit){ .n_ranks = touches->n_ranks, .size = MAX(size, touches->end) };
    r = split_init(&split, touches, ret_rank);
    if (r == 0)
        r = find_groups(habit, &split);
    if (r == 0)
        r = learn(habit, &split, array, ret_rank);
    if (r == 0)
        r = find_stages(habit, &split);
    if (r == 0)
        r = find_turns(habit, &split);
    if (r < 0)
        habit_done(habit);
    return r;
}
