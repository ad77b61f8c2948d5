/* SPDX-License-Identifier: MIT */
#include "layout/sweep.h"

/* Parts still to come, the one that starts first on top. */
struct queue {
    struct part **part;
    size_t n, room;
};

struct sweep {
    struct draft *draft;
    struct fault *fault;
};

/* A list being swept: what is in order already. */
struct level {
    struct parts out;
    uint64_t base; /* where its block starts, in the first repetition of all blocks around */
    unsigned depth;
    bool cover;   /* its parts shall lie side by side, from 0 on */
    uint64_t end; /* of the last one */
};

/* Families that start within one period of each other, and how long they go on side by side. */
struct region {
    struct parts active;
    uint64_t period;
    uint64_t end; /* they all run on to here, and nothing else starts before */
};

static void queue_done(struct queue *queue)
{
    free(queue->part);
}

static void queue_push(struct draft *draft, struct queue *queue, struct part *part)
{
    size_t i;

    if (part == NULL)
        return;
    if (queue->n == queue->room) {
        size_t room = MAX(queue->room * 2, 16);
        struct part **grown = realloc(queue->part, room * sizeof(struct part *));

        if (grown == NULL) {
            draft->error = -ENOMEM;
            return;
        }
        queue->part = grown;
        queue->room = room;
    }
    part->next = NULL;
    for (i = queue->n++; i > 0 && queue->part[(i - 1) / 2]->f.l > part->f.l; i = (i - 1) / 2)
        queue->part[i] = queue->part[(i - 1) / 2];
    queue->part[i] = part;
}

static struct part *queue_pop(struct queue *queue)
{
    struct part *top = queue->part[0], *moved = queue->part[--queue->n];
    size_t i = 0;

    for (size_t child = 1; child < queue->n; child = 2 * i + 1) {
        if (child + 1 < queue->n && queue->part[child + 1]->f.l < queue->part[child]->f.l)
            child++;
        if (moved->f.l <= queue->part[child]->f.l)
            break;
        queue->part[i] = queue->part[child];
        i = child;
    }
    queue->part[i] = moved;
    return top;
}

static const struct part *queue_top(const struct queue *queue)
{
    return queue->n > 0 ? queue->part[0] : NULL;
}

static void queue_push_all(struct draft *draft, struct queue *queue, struct part *first)
{
    for (struct part *p = first, *next; p != NULL; p = next) {
        next = p->next;
        queue_push(draft, queue, p);
    }
}

static struct part *sweep_list(struct sweep *sweep, const struct part *first, struct level level, uint64_t cover_size);

/* Blocks [from, from + n) of p. */
static struct part *some_blocks(struct draft *draft, const struct part *p, uint64_t from, uint64_t n)
{
    struct part *some = draft_copy(draft, p, from * p->f.s);

    if (some != NULL)
        some->f.n = n;
    return some;
}

static void overlap_at(struct sweep *sweep, uint64_t byte, const struct part *a, const struct part *b)
{
    if (sweep->draft->error != 0)
        return;
    sweep->draft->error = -ERANGE;
    *sweep->fault = (struct fault){ .byte = byte, .origin = { a->origin, b->origin } };
}

static void gap_at(struct sweep *sweep, uint64_t byte)
{
    if (sweep->draft->error != 0)
        return;
    sweep->draft->error = -ERANGE;
    *sweep->fault = (struct fault){ .byte = byte, .gap = true };
}

/* Finds the first byte of the part's extent that it does not select; false when it selects all of them. */
static bool find_hole(const struct part *p, uint64_t base, uint64_t *ret_byte)
{
    uint64_t end = 0;

    for (const struct part *q = p->inner; q != NULL; q = q->next) {
        *ret_byte = base + p->f.l + end;
        if (q->f.l != end || find_hole(q, base + p->f.l, ret_byte))
            return true;
        end = falls_end(&q->f);
    }
    if (p->inner == NULL)
        end = falls_len(&p->f);
    *ret_byte = base + p->f.l + end;
    return end < falls_len(&p->f) || (p->f.n > 1 && p->f.s > falls_len(&p->f));
}

/* Appends the next part in order; where the level shall cover, a hole before the part or in it is a gap. */
static void emit(struct sweep *sweep, struct level *level, const struct part *part)
{
    struct parts reduced = { 0 };
    uint64_t hole;

    parts_reduce(sweep->draft, &reduced, part);
    for (struct part *p = reduced.first, *next; p != NULL; p = next) {
        next = p->next;
        if (level->cover && p->f.l != level->end)
            gap_at(sweep, level->base + level->end);
        else if (level->cover && find_hole(p, level->base, &hole))
            gap_at(sweep, hole);
        level->end = falls_end(&p->f);
        p->next = NULL;
        parts_append(&level->out, p);
    }
}

/* Fills the queue with the reduced members of the list, their inner lists swept. */
static void queue_fill(struct sweep *sweep, struct queue *queue, const struct part *first, const struct level *level)
{
    struct draft *draft = sweep->draft;

    for (const struct part *p = first; p != NULL && draft_work(draft, 1); p = p->next) {
        struct part swept = *p;
        struct parts reduced = { 0 };

        if (p->inner != NULL && !p->swept) {
            struct level inner = { .base = level->base + p->f.l, .depth = level->depth + 1 };

            swept.inner = sweep_list(sweep, p->inner, inner, 0);
            swept.swept = true;
            if (swept.inner == NULL)
                continue;
        }
        parts_reduce(draft, &reduced, &swept);
        queue_push_all(draft, queue, reduced.first);
    }
}

/* Takes from the queue all families that start within a period of m, which was on top, and finds how long they run
 * side by side without a change. A period of 0 says that they have none from m's first byte on. */
static struct region region_of(struct draft *draft, struct queue *queue, struct part *m)
{
    struct region region = { .period = m->f.s, .end = m->f.l + m->f.n * m->f.s };
    uint64_t x = m->f.l;

    parts_append(&region.active, m);
    while (queue->n > 0 && queue_top(queue)->f.l < MIN(x + region.period, region.end) && draft_work(draft, 1)) {
        const struct part *o = queue_top(queue);
        uint64_t period;

        if (o->f.n == 1)
            break;
        /* The block before o's first one, did it exist, must not reach into the period, nor o's last one out of it. */
        if (o->f.l + falls_len(&o->f) > x + o->f.s || lcm_overflows(region.period, o->f.s, &period)) {
            region.period = 0;
            return region;
        }
        region.period = period;
        region.end = MIN(region.end, o->f.l + o->f.n * o->f.s);
        parts_append(&region.active, queue_pop(queue));
    }
    if (queue->n > 0)
        region.end = MIN(region.end, queue_top(queue)->f.l);
    return region;
}

/* One period of the region, repeated, becomes one part; what is left of its families returns to the queue. */
static void sweep_region(struct sweep *sweep, struct queue *queue, struct level *level, const struct region *region,
                         uint64_t repeats)
{
    struct draft *draft = sweep->draft;
    uint64_t x = region->active.first->f.l;
    struct level inner = { .base = level->base + x, .depth = level->depth + 1, .cover = level->cover };
    struct parts window = { 0 };
    struct part whole = { .f = { x, x + region->period - 1, region->period, repeats },
                          .origin = region->active.first->origin,
                          .swept = true };

    for (struct part *p = region->active.first, *next; p != NULL && draft->error == 0; p = next) {
        uint64_t per_period = region->period / p->f.s, used = per_period * repeats;
        struct part *once = some_blocks(draft, p, 0, per_period);

        next = p->next;
        if (once == NULL)
            return;
        once->f.l -= x;
        once->f.r -= x;
        parts_append(&window, once);
        if (used < p->f.n)
            queue_push(draft, queue, some_blocks(draft, p, used, p->f.n - used));
    }
    whole.inner = sweep_list(sweep, window.first, inner, region->period);
    if (whole.inner != NULL)
        emit(sweep, level, &whole);
}

/* m, on top until now, overlaps the extent of o, the next one: takes as much of m as lies before o, or opens m's first
 * block when o starts inside it. */
static void sweep_apart(struct sweep *sweep, struct queue *queue, struct level *level, const struct part *m,
                        const struct part *o)
{
    struct draft *draft = sweep->draft;
    uint64_t before = falls_blocks_before(&m->f, o->f.l);

    if (before > 0) {
        struct part *head = some_blocks(draft, m, 0, before);

        if (head != NULL)
            emit(sweep, level, head);
        queue_push(draft, queue, some_blocks(draft, m, before, m->f.n - before));
        return;
    }
    if (m->inner == NULL || o->f.l == m->f.l) {
        overlap_at(sweep, level->base + o->f.l, m, o);
        return;
    }
    for (const struct part *p = m->inner; p != NULL; p = p->next) {
        struct part *opened = draft_copy(draft, p, m->f.l);

        if (opened != NULL)
            opened->origin = m->origin;
        queue_push(draft, queue, opened);
    }
    if (m->f.n > 1)
        queue_push(draft, queue, some_blocks(draft, m, 1, m->f.n - 1));
}

/* Sweeps a list into a level that is still empty. A level that shall cover must do so up to cover_size. */
static struct part *sweep_list(struct sweep *sweep, const struct part *first, struct level level, uint64_t cover_size)
{
    struct draft *draft = sweep->draft;
    cleanup(queue_done) struct queue queue = { 0 };

    if (level.depth > DRAFT_MAX_DEPTH && draft->error == 0)
        draft->error = -E2BIG;
    queue_fill(sweep, &queue, first, &level);
    while (queue.n > 0 && draft_work(draft, 1)) {
        struct part *m = queue_pop(&queue);
        const struct part *o = queue_top(&queue);

        if (o == NULL || o->f.l >= falls_end(&m->f)) {
            emit(sweep, &level, m);
            continue;
        }
        if (m->f.n > 1 && o->f.n > 1) {
            struct region region = region_of(draft, &queue, m);
            uint64_t repeats = region.period == 0 ? 0 : (region.end - m->f.l) / region.period;

            if (region.active.first != region.active.last && repeats > 1) {
                sweep_region(sweep, &queue, &level, &region, repeats);
                continue;
            }
            queue_push_all(draft, &queue, region.active.first->next);
            m->next = NULL;
            o = queue_top(&queue);
        }
        if (draft->error == 0)
            sweep_apart(sweep, &queue, &level, m, o);
    }
    if (level.cover && level.end < cover_size)
        gap_at(sweep, level.base + level.end);
    return draft->error == 0 ? parts_tidy(draft, level.out.first) : NULL;
}

struct part *parts_sweep(struct draft *draft, const struct part *first, struct fault *ret_fault)
{
    struct sweep sweep = { .draft = draft, .fault = ret_fault };

    return sweep_list(&sweep, first, (struct level){ 0 }, 0);
}

struct part *parts_sweep_cover(struct draft *draft, const struct part *first, uint64_t size, struct fault *ret_fault)
{
    struct sweep sweep = { .draft = draft, .fault = ret_fault };

    return sweep_list(&sweep, first, (struct level){ .cover = true }, size);
}
