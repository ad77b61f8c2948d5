/* SPDX-License-Identifier: MIT */
#include "ioctl/mpi/fold.h"

struct fold *fold_new(const struct typemap *typemap, uint64_t bytes)
{
    const uint64_t max_runs = MIN(MAX(bytes, 1), FOLD_MAX_RUNS);
    struct fold *fold = calloc(1, sizeof *fold);

    if (fold == NULL)
        return NULL;
    fold->typemap = typemap;
    fold->max_runs = max_runs;
    fold->pieces = fallsfs_alloc(max_runs * sizeof *fold->pieces);
    fold->before = calloc(max_runs, sizeof *fold->before);
    if (fold->pieces == NULL || fold->before == NULL) {
        fold_free(fold);
        return NULL;
    }
    return fold;
}

void fold_free(struct fold *fold)
{
    if (fold == NULL)
        return;
    fallsfs_free(fold->pieces);
    free(fold->before);
    free(fold);
}

/* -- pieces -- */

static void tell_run(void *arg, int64_t off, uint64_t len, int64_t stride, uint64_t n)
{
    struct fold *fold = arg;

    for (uint64_t i = 0; i < n; i++, off += stride) {
        struct fallsfs_ioc_piece *last = fold->n > 0 ? &fold->pieces[fold->n - 1] : NULL;

        if (last != NULL && last->off + last->len == (uint64_t) off)
            last->len += len;
        else
            fold->pieces[fold->n++] = (struct fallsfs_ioc_piece){ (uint64_t) off, len };
    }
}

static int by_off(const void *a, const void *b)
{
    const struct fallsfs_ioc_piece *one = a, *other = b;

    return (one->off > other->off) - (one->off < other->off);
}

/* Runs become pieces: each byte once, in file order. */
static void unite(struct fold *fold)
{
    struct fallsfs_ioc_piece *pieces = fold->pieces;
    uint64_t n = 0;

    qsort(pieces, fold->n, sizeof *pieces, by_off);
    for (uint64_t i = 0; i < fold->n; i++) {
        struct fallsfs_ioc_piece *last = n > 0 ? &pieces[n - 1] : NULL;

        if (last != NULL && pieces[i].off <= last->off + last->len)
            last->len = MAX(last->len, pieces[i].off + pieces[i].len - last->off);
        else
            pieces[n++] = pieces[i];
    }
    fold->n = n;
    fold->bytes = 0;
    for (uint64_t i = 0; i < n; fold->bytes += pieces[i++].len)
        fold->before[i] = fold->bytes;
}

/* So many bytes are no more runs than that. */
uint64_t fold_take(struct fold *fold, uint64_t from, uint64_t len, uint64_t max_runs)
{
    const uint64_t most = max_runs > 0 ? MIN(max_runs, fold->max_runs) : fold->max_runs;

    fold->from = from;
    fold->len = 0;
    fold->n = 0;
    while (fold->len < len && fold->n < most) {
        const uint64_t part = MIN(len - fold->len, most - fold->n);

        typemap_walk(fold->typemap, from + fold->len, part, tell_run, fold);
        fold->len += part;
    }
    unite(fold);
    return fold->len;
}

/* -- dealing out -- */

struct deal {
    const struct fold *fold;
    int64_t end;
    const uint8_t *came;
    const struct typemap *memory;
    uint8_t *buf;
    uint64_t at, done;
    bool ended;
};

/* Where in what has come a byte of the file is. */
static uint64_t place_of(const struct fold *fold, uint64_t off)
{
    uint64_t lo = 0, hi = fold->n;

    while (hi - lo > 1) {
        const uint64_t mid = lo + (hi - lo) / 2;

        if (fold->pieces[mid].off <= off)
            lo = mid;
        else
            hi = mid;
    }
    return fold->before[lo] + off - fold->pieces[lo].off;
}

static void tell_deal(void *arg, int64_t off, uint64_t len, int64_t stride, uint64_t n)
{
    struct deal *deal = arg;

    for (uint64_t i = 0; i < n && !deal->ended; i++, off += stride) {
        const uint64_t left = (uint64_t) MAX(deal->end - off, 0), part = MIN(len, left);

        if (part > 0)
            typemap_scatter(deal->memory, deal->buf, deal->at + deal->done, part,
                            deal->came + place_of(deal->fold, (uint64_t) off));
        deal->done += part;
        deal->ended = part < len;
    }
}

uint64_t fold_scatter(const struct fold *fold, int64_t end, const uint8_t *came, const struct typemap *memory,
                      uint8_t *buf, uint64_t at)
{
    struct deal deal = { .fold = fold, .end = end, .came = came, .memory = memory, .buf = buf, .at = at };

    typemap_walk(fold->typemap, fold->from, fold->len, tell_deal, &deal);
    return deal.done;
}
