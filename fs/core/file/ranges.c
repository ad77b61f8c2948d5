/* SPDX-License-Identifier: MIT */
#include "fs/core/file/ranges.h"

#include "fs/core/disk/watch.h"

struct range_held {
    uint64_t lo, hi;
    pthread_t owner;
    struct range_held *next;
};

void ranges_init(struct ranges *ranges)
{
    *ranges = (struct ranges){ .first = NULL };
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

static int lock_until(struct ranges *ranges, uint64_t lo, uint64_t hi, uint64_t until)
{
    struct range_held *held = calloc(1, sizeof *held), **last;
    int r = 0;

    if (held == NULL)
        return -ENOMEM;
    *held = (struct range_held){ .lo = lo, .hi = hi, .owner = pthread_self() };
    mutex_lock(&ranges->lock);
    for (last = &ranges->first; *last != NULL;)
        last = &(*last)->next;
    *last = held;
    atomic_fetch_add(&ranges->n, 1);
    while (r == 0 && is_blocked(ranges, lo, hi, held))
        r = cond_wait_until_ms(&ranges->changed, &ranges->lock, until) ? 0 : -ETIMEDOUT;
    if (r < 0)
        unlist(ranges, held);
    mutex_unlock(&ranges->lock);
    return r;
}

int ranges_lock(struct ranges *ranges, uint64_t lo, uint64_t hi)
{
    return lock_until(ranges, lo, hi, clock_in_ms(WATCH_STALL));
}

int ranges_try_lock(struct ranges *ranges, uint64_t lo, uint64_t hi)
{
    return lock_until(ranges, lo, hi, clock_ms());
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
    uint64_t until = clock_in_ms(WATCH_STALL);
    int r = 0;

    mutex_lock(&ranges->lock);
    while (r == 0 && is_blocked(ranges, lo, hi, NULL))
        r = cond_wait_until_ms(&ranges->changed, &ranges->lock, until) ? 0 : -ETIMEDOUT;
    mutex_unlock(&ranges->lock);
    return r;
}
