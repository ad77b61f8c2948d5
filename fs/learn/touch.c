/* SPDX-License-Identifier: MIT */
#include "fs/learn/touch.h"

/* An access of the file, and its place in the trace. */
struct timed {
    uint64_t at;
    uint32_t index;
};

static int by_time(const void *a, const void *b)
{
    const struct timed *x = a, *y = b;

    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static bool counts(const struct traced_access *access, uint32_t file)
{
    return access->file == file && (access->flags & TRACE_FAILED) == 0 && access->len > 0;
}

/* The accesses of a file, in order of time; NULL without memory, or when there is none. */
static struct timed *sort_accesses(const struct trace *trace, uint32_t file, size_t *ret_n)
{
    struct timed *timed;
    size_t n = 0;

    for (size_t i = 0; i < trace->n_accesses; i++)
        n += counts(&trace->access[i], file);
    *ret_n = n;
    timed = n > 0 ? malloc(n * sizeof *timed) : NULL;
    if (timed == NULL)
        return NULL;
    n = 0;
    for (size_t i = 0; i < trace->n_accesses; i++)
        if (counts(&trace->access[i], file))
            timed[n++] = (struct timed){ trace->access[i].at, (uint32_t) i };
    qsort(timed, n, sizeof *timed, by_time);
    return timed;
}

/* Adds a piece of an access; first is the index of the access' first one, with which a piece may be contiguous. */
static int add_piece(struct touches *touches, size_t first, const struct touch *piece)
{
    struct touch *last = touches->n > first ? &touches->touch[touches->n - 1] : NULL;

    if (piece->end > FALLS_LIMIT)
        return -E2BIG;
    touches->end = MAX(touches->end, piece->end);
    if (last != NULL && last->end == piece->off) {
        last->end = piece->end;
        return 0;
    }
    if (touches->n == TOUCH_MAX)
        return -E2BIG;
    if (!array_grow(touches->touch, touches->n))
        return -ENOMEM;
    touches->touch[touches->n++] = *piece;
    return 0;
}

/* An access that touches what its offset and length say. */
static struct touch touch_of(const struct traced_access *access, uint32_t rank)
{
    return (struct touch){ .off = access->offset,
                           .end = access->offset + access->len,
                           .at = access->at,
                           .rank = rank,
                           .writes = (access->flags & TRACE_WRITES) != 0,
                           .by_pattern = access->how != TRACE_PLAIN };
}

/* Adds the bytes of a set from its k-th on, shifted. */
static int add_set(struct touches *touches, const struct traced_access *access, uint32_t rank, const struct nest *nest,
                   uint64_t k, uint64_t shift)
{
    struct touch piece = touch_of(access, rank);
    size_t first = touches->n;
    uint64_t end = MIN(k + access->len, nest->size);
    int r = 0;

    while (r == 0 && k < end) {
        uint64_t len, off = nest_select_run(nest, k, &len) + shift;

        len = MIN(len, end - k);
        piece.off = off;
        piece.end = off + len;
        r = add_piece(touches, first, &piece);
        k += len;
    }
    if (r == -E2BIG)
        touches->n = first;
    return r;
}

static int add_access(struct touches *touches, const struct traced_access *access, uint32_t rank,
                      struct nest *const pattern[])
{
    const struct nest *nest = access->pattern != TRACE_NOBODY ? pattern[access->pattern] : NULL;
    struct touch touch = touch_of(access, rank);
    uint64_t start = 0;

    if (access->how == TRACE_PLAIN)
        return add_piece(touches, touches->n, &touch);
    if (nest == NULL || nest->size == 0)
        return -E2BIG;
    if (access->how == TRACE_BY_VIEW)
        return add_set(touches, access, rank, nest, access->offset, 0);
    (void) nest_next(nest, 0, &start);
    return add_set(touches, access, rank, nest, 0, access->offset - start);
}

/* -- ranks -- */

#define NO_RANK UINT32_MAX

/* Gives a process the next rank. */
static void add_rank(struct touches *touches, uint32_t rank[], uint32_t process, uint32_t n_processes)
{
    rank[MIN(process, n_processes)] = touches->n_ranks; /* the kernel's stands last */
    touches->first[touches->n_ranks] = SIZE_MAX;
    touches->process[touches->n_ranks++] = process;
}

/* Finds the rank of a process, or gives it the next one, and notes where its touches begin. */
static uint32_t rank_of(struct touches *touches, uint32_t rank[], uint32_t process, uint32_t n_processes)
{
    uint32_t *known = &rank[MIN(process, n_processes)];

    if (*known == NO_RANK)
        add_rank(touches, rank, process, n_processes);
    if (touches->first[*known] == SIZE_MAX)
        touches->first[*known] = touches->n;
    return *known;
}

/* A process that accesses the file, and its rank in MPI. */
struct ranked {
    uint32_t ranked, process;
};

static int by_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->ranked != y->ranked)
        return x->ranked < y->ranked ? -1 : 1;
    return x->process < y->process ? -1 : x->process > y->process;
}

/* The processes that MPI has given ranks are in that order, before all others. */
static int keep_ranks(struct touches *touches, const struct trace *trace, const struct timed timed[], size_t n,
                      uint32_t rank[])
{
    cleanup(freep) struct ranked *found = NULL;
    size_t n_found = 0;

    if (trace->n_processes > 0 && (found = malloc(trace->n_processes * sizeof *found)) == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        uint32_t process = trace->access[timed[i].index].process;

        if (process == TRACE_NOBODY || rank[process] != NO_RANK || trace->process[process].ranked == 0)
            continue;
        rank[process] = 0; /* until its place is known */
        found[n_found++] = (struct ranked){ trace->process[process].ranked, process };
    }
    if (n_found > 0)
        qsort(found, n_found, sizeof *found, by_ranked);
    for (size_t i = 0; i < n_found; i++)
        add_rank(touches, rank, found[i].process, (uint32_t) trace->n_processes);
    return 0;
}

static void count(struct touches *touches, const struct traced_access *access, bool is_placed)
{
    uint64_t stands_for = MAX(access->sampled, 1), len = is_placed ? access->len : 0;

    touches->accesses++;
    touches->of_accesses += stands_for;
    if ((access->flags & TRACE_WRITES) != 0) {
        touches->bytes_written += len;
        touches->of_bytes_written += stands_for * len;
    } else {
        touches->bytes_read += len;
        touches->of_bytes_read += stands_for * len;
    }
}

int touches_init(struct touches *touches, const struct trace *trace, uint32_t file, struct nest *const pattern[])
{
    size_t n;
    cleanup(freep) struct timed *timed = sort_accesses(trace, file, &n);
    cleanup(freep) uint32_t *rank = malloc((trace->n_processes + 1) * sizeof *rank);
    int r;

    *touches = (struct touches){ .process = malloc((trace->n_processes + 1) * sizeof *touches->process),
                                 .first = malloc((trace->n_processes + 1) * sizeof *touches->first) };
    r = (timed == NULL && n > 0) || rank == NULL || touches->process == NULL || touches->first == NULL ? -ENOMEM : 0;
    for (size_t i = 0; r == 0 && i <= trace->n_processes; i++)
        rank[i] = NO_RANK;
    if (r == 0)
        r = keep_ranks(touches, trace, timed, n, rank);
    for (size_t i = 0; r == 0 && i < n; i++) {
        const struct traced_access *access = &trace->access[timed[i].index];

        r = add_access(touches, access, rank_of(touches, rank, access->process, (uint32_t) trace->n_processes),
                       pattern);
        count(touches, access, r == 0);
        if (r == -E2BIG) {
            touches->unplaced++;
            r = 0;
        }
    }
    if (r < 0)
        touches_done(touches);
    return r;
}

int touches_merge(const struct touches *touches, struct touches *ret_merged)
{
    cleanup(freep) size_t *last = calloc((size_t) touches->n_ranks + 1, sizeof *last); /* of each rank, and one */
    cleanup(touches_done) struct touches merged = { .touch = malloc(MAX(touches->n, 1) * sizeof *merged.touch),
                                                    .first = calloc((size_t) touches->n_ranks + 1, sizeof(size_t)),
                                                    .n_ranks = touches->n_ranks,
                                                    .bytes_read = touches->bytes_read,
                                                    .bytes_written = touches->bytes_written,
                                                    .end = touches->end };

    if (last == NULL || merged.touch == NULL || merged.first == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < touches->n; i++) {
        const struct touch *touch = &touches->touch[i];
        struct touch *before = last[touch->rank] > 0 ? &merged.touch[last[touch->rank] - 1] : NULL;

        if (before != NULL && before->end == touch->off && before->writes == touch->writes) {
            before->end = touch->end;
            continue;
        }
        if (before == NULL)
            merged.first[touch->rank] = merged.n;
        merged.touch[merged.n++] = *touch;
        last[touch->rank] = merged.n;
    }
    merged.accesses = merged.n;
    *ret_merged = merged;
    merged = (struct touches){ 0 };
    return 0;
}

int touches_by_rank(const struct touches *touches, uint32_t **ret_touch, size_t **ret_first)
{
    cleanup(freep) uint32_t *touch = malloc(MAX(touches->n, 1) * sizeof *touch);
    cleanup(freep) size_t *first = calloc((size_t) touches->n_ranks + 2, sizeof *first);

    if (touch == NULL || first == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < touches->n; i++) /* where a rank begins stands one further on until it is filled */
        first[touches->touch[i].rank + 2]++;
    for (uint32_t rank = 0; rank < touches->n_ranks; rank++)
        first[rank + 2] += first[rank + 1];
    for (size_t i = 0; i < touches->n; i++)
        touch[first[touches->touch[i].rank + 1]++] = (uint32_t) i;
    *ret_touch = steal(touch);
    *ret_first = steal(first);
    return 0;
}

void touches_done(struct touches *touches)
{
    free(touches->touch);
    free(touches->process);
    free(touches->first);
    *touches = (struct touches){ 0 };
}
