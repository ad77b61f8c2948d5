/* SPDX-License-Identifier: MIT */
#include "ioctl/sieve.h"

#include "ioctl/exchange.h"
#include "layout/clock.h"

/* Adds what has passed since *since to *sum, and goes on from here. */
static void lap(uint64_t *since, uint64_t *sum)
{
    uint64_t at = clock_ns();

    *sum += at - *since;
    *since = at;
}

/* The hole that takes as long to read, or to read and write back, as another call. */
static uint64_t worth_crossing(const struct sieve *sieve, bool writes)
{
    const struct store_cost *cost = &sieve->store->cost;
    uint64_t call = writes ? cost->write_call : cost->read_call;
    uint64_t a_kib = cost->read_kib + (writes ? cost->write_kib : 0);

    switch (sieve->mode) {
    case SIEVE_ON:
        return UINT64_MAX;
    case SIEVE_OFF:
        return 0;
    default:
        return a_kib > 0 ? call * 1024 / a_kib : UINT64_MAX;
    }
}

/* Dense windows are taken whole without looking closer. */
static uint64_t gap_in(const struct sieve *sieve, const struct window *window, bool writes)
{
    uint64_t gap = worth_crossing(sieve, writes);

    if (sieve->mode == SIEVE_AUTO && !writes && gap >= 64 && window->useful >= (window->hi - window->lo) / 8)
        return UINT64_MAX;
    return gap;
}

/* -- which disks -- */

/* Each member is asked about each piece of each disk: of more members, holes are not looked for. */
#define MAX_MEMBERS 16

/* What members want of a window. */
struct window_selection {
    struct selection selection;
    const struct fad *fad;
    const struct window *window;
};

static unsigned look(const struct selection *selection, uint64_t lo, uint64_t hi)
{
    const struct window_selection *wanted = (const struct window_selection *) selection;

    return window_look(wanted->fad, wanted->window, lo, hi);
}

/* Whether the window has holes that some of the disks may have alone. */
static bool can_select(const struct sieve *sieve, const struct window *window)
{
    return sieve->mode == SIEVE_AUTO && sieve->store->n_disks > 1 && window->n <= MAX_MEMBERS &&
           window->useful < window->hi - window->lo;
}

static struct window_selection selection_in(const struct sieve *sieve, const struct window *window)
{
    return (struct window_selection){ .selection = { .look = look }, .fad = sieve->fad, .window = window };
}

/* -- reading and writing -- */

/* Moves what is mapped from *at on; stops where something is not. */
static int move_mapped(struct sieve *sieve, const struct window *window, bool writes, uint64_t *at)
{
    const struct store *store = sieve->store;
    int r = 0;

    while (r == 0 && *at < window->hi) {
        void *addr;
        uint64_t since = clock_ns();
        size_t n = store->ops->map(store->ctx, window->hi - *at, *at, writes, &addr);

        lap(&since, &sieve->stats.ns_io);
        if (n == 0)
            break;
        r = writes ? exchange_collect(sieve->fad, window, *at, *at + n, addr)
                   : exchange_deliver(sieve->fad, window, *at, *at + n, addr);
        store->ops->unmap(store->ctx, writes ? n : 0, *at);
        lap(&since, &sieve->stats.ns_exchange);
        if (r == 0) {
            sieve->stats.mapped += n;
            *at += n;
        }
    }
    /* A page that cannot be had this way says by a system call why. */
    return r == -EFAULT ? 0 : r;
}

/* Reads holes, too. */
static int read_piece(struct sieve *sieve, uint64_t lo, uint64_t hi, uint8_t *bytes)
{
    sieve->stats.requests++;
    sieve->stats.disk_read += hi - lo;
    return sieve->store->ops->read(sieve->store->ctx, bytes, hi - lo, lo, NULL);
}

/* Reads what members want, and holes only where their disks have some of that. */
static int read_wanted(struct sieve *sieve, const struct window *window, uint64_t lo, uint64_t hi, uint8_t *bytes)
{
    struct window_selection wanted = selection_in(sieve, window);
    int r;

    if (!can_select(sieve, window))
        return read_piece(sieve, lo, hi, bytes);
    r = sieve->store->ops->read(sieve->store->ctx, bytes, hi - lo, lo, &wanted.selection);
    sieve->stats.requests++;
    sieve->stats.disk_read += hi - lo - wanted.selection.left_out;
    return r;
}

static int write_piece(struct sieve *sieve, uint64_t lo, uint64_t hi, const uint8_t *bytes)
{
    sieve->stats.requests++;
    sieve->stats.disk_written += hi - lo;
    return sieve->store->ops->write(sieve->store->ctx, bytes, hi - lo, lo);
}

static void note_miss(struct sieve *sieve)
{
    if (sieve->missed != NULL)
        sieve->missed(sieve->ctx);
}

int sieve_read(struct sieve *sieve, const struct window *window)
{
    uint64_t gap = gap_in(sieve, window, false), lo, hi, at = window->lo, since, n_pieces = 0;
    int r = move_mapped(sieve, window, false, &at);

    sieve->stats.windows++;
    if (r == 0 && at == window->hi) {
        sieve->stats.windows_mapped++;
        return 0;
    }
    note_miss(sieve);
    since = clock_ns();
    for (; r == 0 && window_piece(sieve->fad, window, at, gap, &lo, &hi); at = hi) {
        n_pieces++;
        r = read_wanted(sieve, window, lo, hi, sieve->buf);
        lap(&since, &sieve->stats.ns_io);
        if (r == 0)
            r = exchange_deliver(sieve->fad, window, lo, hi, sieve->buf);
        lap(&since, &sieve->stats.ns_exchange);
    }
    sieve->stats.windows_list += n_pieces > 1;
    return r;
}

/* Around holes that keep what they have. */
static int rewrite_piece(struct sieve *sieve, const struct window *window, uint64_t lo, uint64_t hi, uint64_t *since)
{
    const struct store *store = sieve->store;
    int r;

    note_miss(sieve);
    r = store->ops->lock(store->ctx, lo, hi - lo);
    if (r < 0)
        return r;
    r = read_piece(sieve, lo, hi, sieve->buf);
    sieve->stats.reread += hi - lo;
    lap(since, &sieve->stats.ns_io);
    if (r == 0)
        r = exchange_collect(sieve->fad, window, lo, hi, sieve->buf);
    lap(since, &sieve->stats.ns_exchange);
    if (r == 0)
        r = write_piece(sieve, lo, hi, sieve->buf);
    store->ops->unlock(store->ctx, lo, hi - lo);
    return r;
}

static int cover_piece(struct sieve *sieve, const struct window *window, uint64_t lo, uint64_t hi, uint64_t *since)
{
    int r = exchange_collect(sieve->fad, window, lo, hi, sieve->buf);

    lap(since, &sieve->stats.ns_exchange);
    return r < 0 ? r : write_piece(sieve, lo, hi, sieve->buf);
}

/* Writes what members want of the window from at on, without its holes. -EAGAIN: it is not all written, since a disk
 * has both. */
static int write_wanted(struct sieve *sieve, const struct window *window, uint64_t at)
{
    const struct store *store = sieve->store;
    struct window_selection wanted = selection_in(sieve, window);
    uint64_t since = clock_ns(), len = window->hi - at;
    int r;

    if (!can_select(sieve, window) || store->ops->is_apart == NULL ||
        !store->ops->is_apart(store->ctx, len, at, &wanted.selection))
        return -EAGAIN;
    r = exchange_collect(sieve->fad, window, at, window->hi, sieve->buf);
    lap(&since, &sieve->stats.ns_exchange);
    if (r == 0)
        r = store->ops->write_only(store->ctx, sieve->buf, len, at, &wanted.selection);
    lap(&since, &sieve->stats.ns_io);
    if (r == 0) {
        sieve->stats.requests++;
        sieve->stats.disk_written += len - wanted.selection.left_out;
    }
    return r;
}

/* Reads what holes keep, so that the rest of the window can be changed where it is: less than reading it here and
 * writing it back. What lies behind the end of the file has nothing to keep. */
static int fetch(struct sieve *sieve, const struct window *window, uint64_t at)
{
    uint64_t gap = gap_in(sieve, window, false), size = sieve->store->ops->size(sieve->store->ctx), lo, hi;
    uint64_t since = clock_ns();
    int r = 0;

    note_miss(sieve);
    for (; r == 0 && window_piece(sieve->fad, window, at, gap, &lo, &hi) && lo < size; at = hi)
        r = read_piece(sieve, lo, MIN(hi, size), sieve->buf);
    lap(&since, &sieve->stats.ns_io);
    return r;
}

int sieve_write(struct sieve *sieve, const struct window *window)
{
    uint64_t gap = gap_in(sieve, window, true), lo, hi, at = window->lo, since, n_pieces = 0;
    int r = move_mapped(sieve, window, true, &at);

    sieve->stats.windows++;
    if (r == 0 && at < window->hi && sieve->mode == SIEVE_AUTO &&
        !window_is_covered(sieve->fad, window, at, window->hi)) {
        r = write_wanted(sieve, window, at);
        if (r != -EAGAIN)
            return r;
        r = fetch(sieve, window, at);
        if (r == 0)
            r = move_mapped(sieve, window, true, &at);
    }
    if (r == 0 && at == window->hi) {
        sieve->stats.windows_mapped++;
        return 0;
    }
    since = clock_ns();
    for (; r == 0 && window_piece(sieve->fad, window, at, gap, &lo, &hi); at = hi) {
        n_pieces++;
        /* Without gaps a piece is what somebody writes from end to end. */
        if (gap == 0 || window_is_covered(sieve->fad, window, lo, hi))
            r = cover_piece(sieve, window, lo, hi, &since);
        else
            r = rewrite_piece(sieve, window, lo, hi, &since);
        lap(&since, &sieve->stats.ns_io);
    }
    sieve->stats.windows_list += n_pieces > 1;
    return r;
}

void sieve_prefetch(struct sieve *sieve, const struct window *window, bool writes)
{
    const struct window_selection wanted = selection_in(sieve, window);
    uint64_t gap = gap_in(sieve, window, false), at = window->lo, lo, hi;

    if (writes && window_is_covered(sieve->fad, window, window->lo, window->hi))
        return;
    for (; window_piece(sieve->fad, window, at, gap, &lo, &hi); at = hi)
        sieve->store->ops->prefetch(sieve->store->ctx, hi - lo, lo,
                                    can_select(sieve, window) ? &wanted.selection : NULL);
}
