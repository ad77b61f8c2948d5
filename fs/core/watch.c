/* SPDX-License-Identifier: MIT */
#include "fs/core/watch.h"

#include <time.h>

/* So many threads may wait for a stalled disk. */
#define MAX_STUCK 8

uint64_t watch_now(void)
{
    struct timespec now;

    (void) clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t) now.tv_sec * 1000 + (uint64_t) now.tv_nsec / 1000000;
}

uint64_t watch_oldest(struct watch *watch)
{
    uint64_t taken = atomic_load(&watch->taken), oldest = UINT64_MAX, now;

    if (taken == 0)
        return 0;
    for (uint64_t rest = taken; rest != 0; rest &= rest - 1)
        oldest = MIN(oldest, atomic_load(&watch->since[__builtin_ctzll(rest)]));
    now = watch_now();
    return oldest < now ? now - oldest : 0;
}

int watch_enter(struct watch *watch)
{
    uint64_t taken = atomic_load_explicit(&watch->taken, memory_order_relaxed);

    /* Looking at all clocks is for when many wait. */
    if (__builtin_popcountll(taken) >= MAX_STUCK && watch_oldest(watch) > WATCH_STALL)
        return WATCH_STALLED;
    while (taken != UINT64_MAX) {
        int seat = __builtin_ctzll(~taken);

        if (atomic_compare_exchange_weak(&watch->taken, &taken, taken | UINT64_C(1) << seat)) {
            atomic_store(&watch->since[seat], watch_now());
            return seat;
        }
    }
    return WATCH_CROWDED;
}

void watch_leave(struct watch *watch, int seat)
{
    if (seat < 0)
        return;
    /* The next one here must not seem to have waited since this one came. */
    atomic_store(&watch->since[seat], UINT64_MAX);
    atomic_fetch_and(&watch->taken, ~(UINT64_C(1) << seat));
}
