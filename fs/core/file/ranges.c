/* SPDX-License-Identifier: MIT */
#include "fs/core/file/ranges.h"

#include "fs/core/disk/watch.h"

struct range_held {
    uint64_t lo, hi;
    pthread_t owner;
    struct range_held *next;
};

void ranges_init(struct ranges *ranges, struct tally *waits)
{
    *ranges = (struct ranges){ .waits = waits };
    mutex_init(&ranges->lock);
    cond_init(&ranges->changed);
}

void ranges_done(struct ranges *ranges)
{
    cond_done(&ranges->changed);
    mutex_done(&ranges->lock);
}

/* Whether a range listed before end is in the way of this thread, that is, overlaps [lo, hi) and is another thread's.
 * The first one that overlaps decides. */
static bool is_blocked(const struct ranges *ranges, uint64_t lo, uint64_t hi, const struct range_held *end)
    REQUIRES(ranges->lock)
{
    for (const struct range_held *held = ranges->first; held != end; held = held->next)
        if (lo < held->hi && held->lo < hi)
            return pthread_equal(held->owner, pthread_self()) == 0;
    return false;
}

static void unlist(struct ranges *ranges, struct range_held *held) REQUIRES(ranges->lock)
{
    struct range_held **at = &ranges->first;

    while (*at != held)
        at = &(*at)->next;
    *at = held->next;
    free(held);
    atomic_fetch_sub(&ranges->n, 1);
    cond_broadcast(&ranges->changed);
}

/* Counts that a program has waited since then, by clock_ns; 0: it has not. */
static void count_wait(struct ranges *ranges, uint64_t since)
{
    uint64_t ns = since > 0 ? clock_ns() - since : 0;

    if (since == 0)
        return;
    atomic_fetch_add_explicit(&ranges->n_waits, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&ranges->waited_ns, ns, memory_order_relaxed);
    if (ranges->waits != NULL)
        tally_note(ranges->waits, ns, 0);
}

/* Waits until nothing that is listed before end is in the way of this thread. *ret_since: when it began to wait, by
 * clock_ns; 0: it need not. */
static int wait_until(struct ranges *ranges, uint64_t lo, uint64_t hi, const struct range_held *end, uint64_t until,
                      uint64_t *ret_since) REQUIRES(ranges->lock)
{
    int r = 0;

    *ret_since = is_blocked(ranges, lo, hi, end) ? clock_ns() : 0;
    while (r == 0 && *ret_since > 0 && is_blocked(ranges, lo, hi, end))
        r = cond_wait_until_ms(&ranges->changed, &ranges->lock, until) ? 0 : -ETIMEDOUT;
    return r;
}

static int lock_until(struct ranges *ranges, uint64_t lo, uint64_t hi, uint64_t until, uint64_t *ret_since)
{
    struct range_held *held = calloc(1, sizeof *held), **last;
    int r;

    if (held == NULL)
        return -ENOMEM;
    *held = (struct range_held){ .lo = lo, .hi = hi, .owner = pthread_self() };
    mutex_lock(&ranges->lock);
    for (last = &ranges->first; *last != NULL;)
        last = &(*last)->next;
    *last = held;
    atomic_fetch_add(&ranges->n, 1);
    r = wait_until(ranges, lo, hi, held, until, ret_since);
    if (r < 0)
        unlist(ranges, held);
    mutex_unlock(&ranges->lock);
    return r;
}

int ranges_lock(struct ranges *ranges, uint64_t lo, uint64_t hi)
{
    uint64_t since = 0;
    int r = lock_until(ranges, lo, hi, clock_in_ms(WATCH_STALL), &since);

    count_wait(ranges, since);
    return r;
}

int ranges_lock_behind(struct ranges *ranges, uint64_t lo, uint64_t hi)
{
    uint64_t since;

    return lock_until(ranges, lo, hi, clock_in_ms(WATCH_STALL), &since);
}

int ranges_try_lock(struct ranges *ranges, uint64_t lo, uint64_t hi)
{
    uint64_t since;

    return lock_until(ranges, lo, hi, clock_ms(), &since);
}

void ranges_unlock(struct ranges *ranges, uint64_t lo, uint64_t hi)
{
    struct range_held *held;

    mutex_lock(&ranges->lock);
    held = ranges->first;
    while (held != NULL && (held->lo != lo || held->hi != hi || pthread_equal(held->owner, pthread_self()) == 0))
        held = held->next;
    assert(held != NULL);
    unlist(ranges, held);
    mutex_unlock(&ranges->lock);
}

bool ranges_block(struct ranges *ranges, uint64_t lo, uint64_t hi)
{
    bool blocked;

    if (atomic_load(&ranges->n) == 0)
        return false;
    mutex_lock(&ranges->lock);
    blocked = is_blocked(ranges, lo, hi, NULL);
    mutex_unlock(&ranges->lock);
    return blocked;
}

int ranges_wait(struct ranges *ranges, uint64_t lo, uint64_t hi)
{
    uint64_t since;
    int r;

    mutex_lock(&ranges->lock);
    r = wait_until(ranges, lo, hi, NULL, clock_in_ms(WATCH_STALL), &since);
    mutex_unlock(&ranges->lock);
    count_wait(ranges, since);
    return r;
}
