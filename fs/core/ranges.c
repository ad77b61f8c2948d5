/* SPDX-License-Identifier: MIT */
#include "fs/core/ranges.h"

#include "fs/core/watch.h"

#include <time.h>

struct range_held {
    uint64_t lo, hi;
    pthread_t owner;
    struct range_held *next;
};

void ranges_init(struct ranges *ranges)
{
    pthread_condattr_t attr;

    *ranges = (struct ranges){ .first = NULL };
    pthread_mutex_init(&ranges->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&ranges->changed, &attr);
    pthread_condattr_destroy(&attr);
}

void ranges_done(struct ranges *ranges)
{
    pthread_cond_destroy(&ranges->changed);
    pthread_mutex_destroy(&ranges->lock);
}

/* Whether a range listed before end is in the way of this thread, which has none that covers [lo, hi). */
static bool is_blocked(const struct ranges *ranges, uint64_t lo, uint64_t hi, const struct range_held *end)
{
    for (const struct range_held *held = ranges->first; held != end; held = held->next)
        if (lo < held->hi && held->lo < hi)
            return pthread_equal(held->owner, pthread_self()) == 0;
    return false;
}

/* Waits for a change, as long as one may be hoped for. The lock is held. */
static int wait_for_change(struct ranges *ranges, const struct timespec *until)
{
    return -pthread_cond_timedwait(&ranges->changed, &ranges->lock, until);
}

static struct timespec patience(void)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += WATCH_STALL / 1000;
    return until;
}

static void unlist(struct ranges *ranges, struct range_held *held)
{
    struct range_held **at = &ranges->first;

    while (*at != held)
        at = &(*at)->next;
    *at = held->next;
    free(held);
    atomic_fetch_sub(&ranges->n, 1);
    pthread_cond_broadcast(&ranges->changed);
}

int ranges_lock(struct ranges *ranges, uint64_t lo, uint64_t hi)
{
    struct range_held *held = calloc(1, sizeof *held), **last;
    struct timespec until = patience();
    int r = 0;

    if (held == NULL)
        return -ENOMEM;
    *held = (struct range_held){ .lo = lo, .hi = hi, .owner = pthread_self() };
    pthread_mutex_lock(&ranges->lock);
    for (last = &ranges->first; *last != NULL;)
        last = &(*last)->next;
    *last = held;
    atomic_fetch_add(&ranges->n, 1);
    while (r == 0 && is_blocked(ranges, lo, hi, held))
        r = wait_for_change(ranges, &until);
    if (r < 0)
        unlist(ranges, held);
    pthread_mutex_unlock(&ranges->lock);
    return r;
}

void ranges_unlock(struct ranges *ranges, uint64_t lo, uint64_t hi)
{
    struct range_held *held;

    pthread_mutex_lock(&ranges->lock);
    held = ranges->first;
    while (held->lo != lo || held->hi != hi || pthread_equal(held->owner, pthread_self()) == 0)
        held = held->next;
    unlist(ranges, held);
    pthread_mutex_unlock(&ranges->lock);
}

bool ranges_block(struct ranges *ranges, uint64_t lo, uint64_t hi)
{
    bool blocked;

    if (atomic_load(&ranges->n) == 0)
        return false;
    pthread_mutex_lock(&ranges->lock);
    blocked = is_blocked(ranges, lo, hi, NULL);
    pthread_mutex_unlock(&ranges->lock);
    return blocked;
}

int ranges_wait(struct ranges *ranges, uint64_t lo, uint64_t hi)
{
    struct timespec until = patience();
    int r = 0;

    pthread_mutex_lock(&ranges->lock);
    while (r == 0 && is_blocked(ranges, lo, hi, NULL))
        r = wait_for_change(ranges, &until);
    pthread_mutex_unlock(&ranges->lock);
    return r;
}
