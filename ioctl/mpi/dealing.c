/* SPDX-License-Identifier: MIT */
#include "ioctl/mpi/dealing.h"

struct dealing *dealing_new(const struct typemap *typemap, uint64_t bytes)
{
    const uint64_t max_runs = MIN(MAX(bytes, 1), DEALING_MAX_RUNS);
    struct dealing *dealing = calloc(1, sizeof *dealing);

    if (dealing == NULL)
        return NULL;
    dealing->typemap = typemap;
    dealing->max_runs = max_runs;
    dealing->pieces = fallsfs_alloc(max_runs * sizeof *dealing->pieces);
    dealing->before = calloc(max_runs, sizeof *dealing->before);
    if (dealing->pieces == NULL || dealing->before == NULL) {
        dealing_free(dealing);
        return NULL;
    }
    return dealing;
}

void dealing_free(struct dealing *dealing)
{
    if (dealing == NULL)
        return;
    fallsfs_free(dealing->pieces);
    free(dealing->before);
    free(dealing);
}

/* -- pieces -- */

static void tell_run(void *arg, int64_t off, uint64_t len, int64_t stride, uint64_t n)
{
    struct dealing *dealing = arg;

    for (uint64_t i = 0; i < n; i++, off += stride) {
        struct fallsfs_ioc_piece *last = dealing->n > 0 ? &dealing->pieces[dealing->n - 1] : NULL;

        if (last != NULL && last->off + last->len == (uint64_t) off)
            last->len += len;
        else
            dealing->pieces[dealing->n++] = (struct fallsfs_ioc_piece){ (uint64_t) off, len };
    }
}

static int by_off(const void *a, const void *b)
{
    const struct fallsfs_ioc_piece *one = a, *other = b;

    return (one->off > other->off) - (one->off < other->off);
}

/* Runs become pieces: each byte once, in file order. */
static void unite(struct dealing *dealing)
{
    struct fallsfs_ioc_piece *pieces = dealing->pieces;
    uint64_t n = 0;

    qsort(pieces, dealing->n, sizeof *pieces, by_off);
    for (uint64_t i = 0; i < dealing->n; i++) {
        struct fallsfs_ioc_piece *last = n > 0 ? &pieces[n - 1] : NULL;

        if (last != NULL && pieces[i].off <= last->off + last->len)
            last->len = MAX(last->len, pieces[i].off + pieces[i].len - last->off);
        else
            pieces[n++] = pieces[i];
    }
    dealing->n = n;
    dealing->bytes = 0;
    for (uint64_t i = 0; i < n; dealing->bytes += pieces[i++].len)
        dealing->before[i] = dealing->bytes;
}

/* So many bytes are no more runs than that. */
uint64_t dealing_take(struct dealing *dealing, uint64_t from, uint64_t len, uint64_t max_runs)
{
    const uint64_t most = max_runs > 0 ? MIN(max_runs, dealing->max_runs) : dealing->max_runs;

    dealing->from = from;
    dealing->len = 0;
    dealing->n = 0;
    while (dealing->len < len && dealing->n < most) {
        const uint64_t part = MIN(len - dealing->len, most - dealing->n);

        typemap_walk(dealing->typemap, from + dealing->len, part, tell_run, dealing);
        dealing->len += part;
    }
    unite(dealing);
    return dealing->len;
}

/* -- dealing out -- */

struct deal {
    const struct dealing *dealing;
    int64_t end;
    const uint8_t *came;
    const struct typemap *memory;
    uint8_t *buf;
    uint64_t at, done;
    bool ended;
};

/* Where in what has come a byte of the file is. */
static uint64_t place_of(const struct dealing *dealing, uint64_t off)
{
    uint64_t lo = 0, hi = dealing->n;

    while (hi - lo > 1) {
        const uint64_t mid = lo + (hi - lo) / 2;

        if (dealing->pieces[mid].off <= off)
            lo = mid;
        else
            hi = mid;
    }
    return dealing->before[lo] + off - dealing->pieces[lo].off;
}

static void tell_deal(void *arg, int64_t off, uint64_t len, int64_t stride, uint64_t n)
{
    struct deal *deal = arg;

    for (uint64_t i = 0; i < n && !deal->ended; i++, off += stride) {
        const uint64_t left = (uint64_t) MAX(deal->end - off, 0), part = MIN(len, left);

        if (part > 0)
            typemap_scatter(deal->memory, deal->buf, deal->at + deal->done, part,
                            deal->came + place_of(deal->dealing, (uint64_t) off));
        deal->done += part;
        deal->ended = part < len;
    }
}

uint64_t dealing_scatter(const struct dealing *dealing, int64_t end, const uint8_t *came, const struct typemap *memory,
                         uint8_t *buf, uint64_t at)
{
    struct deal deal = { .dealing = dealing, .end = end, .came = came, .memory = memory, .buf = buf, .at = at };

    typemap_walk(dealing->typemap, dealing->from, dealing->len, tell_deal, &deal);
    return deal.done;
}
