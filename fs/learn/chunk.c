/* SPDX-License-Identifier: MIT */
#include "fs/learn/chunk.h"

#include "fs/learn/winner.h"

/* A touch begins or ends here. */
struct event {
    uint64_t at;
    uint32_t touch;
    bool begins;
};

/* What a rank does where the sweep is. */
struct state {
    uint32_t active[2]; /* its touches that are open: reads, writes */
    bool in_chunk[2];   /* whether it was a reader, a writer, where the chunk began */
    bool is_changed;    /* its counts are not those of the chunk's beginning */
    uint32_t count[2];  /* of its touches in the chunk */
};

struct sweep {
    const struct touches *touches;
    struct chunks *chunks;
    struct state *state;          /* of each rank */
    uint32_t *changed, n_changed; /* ranks with is_changed */
    uint32_t n_differing;         /* readers and writers that came or went since the chunk began */
    uint32_t readers, writers, ranks, open[2];
    struct winner top, top_reader;
    uint32_t *heap; /* open touches, the earliest at the top; closed ones are taken out when they get there */
    size_t n_heap;
    struct chunk chunk; /* that is being put together */
    bool in_chunk;
};

enum chunk_class chunk_class(const struct chunk *chunk)
{
    if (chunk->ranks == 1)
        return CHUNK_ONE;
    if (chunk->writers == 0)
        return CHUNK_READ;
    return chunk->writers == 1 ? CHUNK_WRITTEN_ONE : CHUNK_SHARED;
}

void chunks_done(struct chunks *chunks)
{
    free(chunks->chunk);
    *chunks = (struct chunks){ 0 };
}

/* -- which open touch is the earliest -- */

static void heap_push(struct sweep *sweep, uint32_t touch)
{
    size_t i = sweep->n_heap++;

    for (; i > 0 && sweep->heap[(i - 1) / 2] > touch; i = (i - 1) / 2)
        sweep->heap[i] = sweep->heap[(i - 1) / 2];
    sweep->heap[i] = touch;
}

static void heap_pop(struct sweep *sweep)
{
    uint32_t last = sweep->heap[--sweep->n_heap];
    size_t i = 0;

    for (;;) {
        size_t child = 2 * i + 1;

        if (child + 1 < sweep->n_heap && sweep->heap[child + 1] < sweep->heap[child])
            child++;
        if (child >= sweep->n_heap || sweep->heap[child] >= last)
            break;
        sweep->heap[i] = sweep->heap[child];
        i = child;
    }
    sweep->heap[i] = last;
}

/* The earliest of the touches that are open behind a place; there is one. */
static uint32_t earliest(struct sweep *sweep, uint64_t at)
{
    while (sweep->touches->touch[sweep->heap[0]].end <= at)
        heap_pop(sweep);
    return sweep->heap[0];
}

/* -- what changes -- */

static void note_change(struct sweep *sweep, uint32_t rank)
{
    if (!sweep->state[rank].is_changed)
        sweep->changed[sweep->n_changed++] = rank;
    sweep->state[rank].is_changed = true;
}

/* Opens or closes a touch, and keeps count of who is there. */
static void apply(struct sweep *sweep, const struct event *event)
{
    const struct touch *touch = &sweep->touches->touch[event->touch];
    struct state *state = &sweep->state[touch->rank];
    uint32_t *active = &state->active[touch->writes];
    uint32_t *sharers = touch->writes ? &sweep->writers : &sweep->readers;
    bool was = *active > 0, was_there = was || state->active[!touch->writes] > 0, is, is_there;

    *active += event->begins ? 1 : UINT32_MAX;
    sweep->open[touch->writes] += event->begins ? 1 : UINT32_MAX;
    is = *active > 0;
    is_there = is || state->active[!touch->writes] > 0;
    *sharers += (uint32_t) is - (uint32_t) was;
    sweep->ranks += (uint32_t) is_there - (uint32_t) was_there;
    sweep->n_differing +=
        (uint32_t) (is != state->in_chunk[touch->writes]) - (uint32_t) (was != state->in_chunk[touch->writes]);
    note_change(sweep, touch->rank);
    if (event->begins)
        heap_push(sweep, event->touch);
}

static void set_counts(struct sweep *sweep, uint32_t rank)
{
    const struct state *state = &sweep->state[rank];

    winner_set(&sweep->top, rank, (uint64_t) state->count[0] + state->count[1]);
    winner_set(&sweep->top_reader, rank, state->count[0]);
}

/* -- chunks -- */

static int end_chunk(struct sweep *sweep, uint64_t at)
{
    struct chunks *chunks = sweep->chunks;

    if (!sweep->in_chunk)
        return 0;
    sweep->in_chunk = false;
    sweep->chunk.end = at;
    sweep->chunk.top = winner_of(&sweep->top);
    sweep->chunk.top_reader = sweep->chunk.readers > 0 ? winner_of(&sweep->top_reader) : sweep->chunk.top;
    if (!array_grow(chunks->chunk, chunks->n))
        return -ENOMEM;
    chunks->chunk[chunks->n++] = sweep->chunk;
    return 0;
}

/* Begins a chunk with what is open; without anything open none begins, but those that were there are forgotten. */
static void begin_chunk(struct sweep *sweep, uint64_t at)
{
    for (uint32_t i = 0; i < sweep->n_changed; i++) {
        struct state *state = &sweep->state[sweep->changed[i]];

        for (unsigned writes = 0; writes < 2; writes++) {
            state->count[writes] = state->active[writes];
            state->in_chunk[writes] = state->active[writes] > 0;
        }
        state->is_changed = false;
        set_counts(sweep, sweep->changed[i]);
    }
    sweep->n_changed = 0;
    sweep->n_differing = 0;
    sweep->in_chunk = sweep->ranks > 0;
    sweep->chunk = (struct chunk){ .off = at,
                                   .first = UINT32_MAX,
                                   .reads = sweep->open[0],
                                   .writes = sweep->open[1],
                                   .readers = sweep->readers,
                                   .writers = sweep->writers,
                                   .ranks = sweep->ranks };
}

/* Goes on with a chunk in which a touch begins. */
static void count_touch(struct sweep *sweep, uint32_t index)
{
    const struct touch *touch = &sweep->touches->touch[index];

    sweep->state[touch->rank].count[touch->writes]++;
    if (touch->writes)
        sweep->chunk.writes++;
    else
        sweep->chunk.reads++;
    set_counts(sweep, touch->rank);
}

/* All events at one place. */
static int step(struct sweep *sweep, const struct event event[], size_t n)
{
    int r = 0;

    for (size_t i = 0; i < n; i++)
        apply(sweep, &event[i]);
    if (sweep->n_differing > 0) {
        r = end_chunk(sweep, event->at);
        begin_chunk(sweep, event->at);
    } else {
        for (size_t i = 0; i < n; i++)
            if (event[i].begins)
                count_touch(sweep, event[i].touch);
    }
    if (sweep->in_chunk)
        sweep->chunk.first = MIN(sweep->chunk.first, earliest(sweep, event->at));
    return r;
}

static int by_place(const void *a, const void *b)
{
    const struct event *x = a, *y = b;

    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->begins - y->begins;
}

static struct event *sort_events(const struct touches *touches)
{
    struct event *event = malloc(2 * touches->n * sizeof *event);

    for (size_t i = 0; event != NULL && i < touches->n; i++) {
        event[2 * i] = (struct event){ touches->touch[i].off, (uint32_t) i, true };
        event[2 * i + 1] = (struct event){ touches->touch[i].end, (uint32_t) i, false };
    }
    if (event != NULL)
        qsort(event, 2 * touches->n, sizeof *event, by_place);
    return event;
}

static void sweep_done(struct sweep *sweep)
{
    free(sweep->state);
    free(sweep->changed);
    free(sweep->heap);
    winner_done(&sweep->top);
    winner_done(&sweep->top_reader);
}

static int sweep_init(struct sweep *sweep, const struct touches *touches, struct chunks *chunks)
{
    *sweep = (struct sweep){ .touches = touches,
                             .chunks = chunks,
                             .state = calloc(touches->n_ranks, sizeof *sweep->state),
                             .changed = calloc(touches->n_ranks, sizeof *sweep->changed),
                             .heap = malloc(touches->n * sizeof *sweep->heap) };
    if (sweep->state == NULL || sweep->changed == NULL || sweep->heap == NULL ||
        winner_init(&sweep->top, touches->n_ranks) < 0)
        return -ENOMEM;
    return winner_init(&sweep->top_reader, touches->n_ranks);
}

int chunks_init(struct chunks *chunks, const struct touches *touches)
{
    cleanup(freep) struct event *event = NULL;
    cleanup(sweep_done) struct sweep sweep = { 0 };
    size_t n;
    int r;

    *chunks = (struct chunks){ 0 };
    if (touches->n == 0)
        return 0;
    event = sort_events(touches);
    r = event == NULL ? -ENOMEM : sweep_init(&sweep, touches, chunks);
    for (size_t i = 0; r == 0 && i < 2 * touches->n; i += n) {
        for (n = 1; i + n < 2 * touches->n && event[i + n].at == event[i].at; n++)
            ;
        r = step(&sweep, &event[i], n);
    }
    if (r < 0)
        chunks_done(chunks);
    return r;
}
