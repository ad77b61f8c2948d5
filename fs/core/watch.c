/* SPDX-License-Identifier: MIT */
#include "fs/core/watch.h"

#include <time.h>

/* So many threads may wait for a stalled disk. */
#define MAX_STUCK 8

/* ms: who asks again right after a failure shall not wait as long once more. */
#define MARGIN 500

uint64_t watch_now(void)
{
    struct timespec now;

    (void) clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t) now.tv_sec * 1000 + (uint64_t) now.tv_nsec / 1000000;
}

uint64_t watch_now_us(void)
{
    struct timespec now;

    (void) clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000 + (uint64_t) now.tv_nsec / 1000;
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

static bool is_dead(struct watch *watch)
{
    return watch->patience > 0 && watch_oldest(watch) + MARGIN > watch->patience;
}

int watch_refuses(struct watch *watch)
{
    if (watch == NULL)
        return 0;
    return is_dead(watch) ? -EIO : watch_oldest(watch) > WATCH_STALL ? -ETIMEDOUT : 0;
}

int watch_enter(struct watch *watch)
{
    uint64_t taken = atomic_load_explicit(&watch->taken, memory_order_relaxed);

    if (taken != 0 && is_dead(watch))
        return WATCH_DEAD;
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
    atomic_fetch_add(&watch->n_crowded, 1);
    return WATCH_CROWDED;
}

void watch_leave(struct watch *watch, int seat)
{
    if (seat == WATCH_CROWDED)
        atomic_fetch_sub(&watch->n_crowded, 1);
    if (seat < 0)
        return;
    /* The next one here must not seem to have waited since this one came. */
    atomic_store(&watch->since[seat], UINT64_MAX);
    atomic_fetch_and(&watch->taken, ~(UINT64_C(1) << seat));
}

bool watch_is_idle(struct watch *watch)
{
    return atomic_load(&watch->taken) == 0 && atomic_load(&watch->n_crowded) == 0 && !atomic_load(&watch->measured);
}

int watch_new(uint64_t patience, struct watch **ret_watch)
{
    struct watch *watch = calloc(1, sizeof *watch);

    if (watch == NULL)
        return -ENOMEM;
    watch->patience = patience;
    for (int seat = 0; seat < WATCH_SEATS; seat++) /* the first one there has not waited since the clock began */
        atomic_init(&watch->since[seat], UINT64_MAX);
    pthread_mutex_init(&watch->space_lock, NULL);
    *ret_watch = watch;
    return 0;
}

void watch_free(struct watch *watch)
{
    if (watch == NULL)
        return;
    pthread_mutex_destroy(&watch->space_lock);
    free(watch);
}

bool watch_begin_measure(struct watch *watch)
{
    return watch != NULL && !atomic_exchange(&watch->measured, true);
}

void watch_end_measure(struct watch *watch, uint64_t bytes, uint64_t us)
{
    if (bytes > 0)
        atomic_store(&watch->speed, bytes * 1000000 / MAX(us, 1));
    atomic_store(&watch->measured, false);
}

uint64_t watch_backlog(struct watch *watch, uint64_t least)
{
    uint64_t speed = watch != NULL ? atomic_load_explicit(&watch->speed, memory_order_relaxed) : 0;

    return MIN(MAX(speed / 4, least), 16 * least);
}

void watch_note_space(struct watch *watch, const struct statvfs *space)
{
    if (watch == NULL)
        return;
    pthread_mutex_lock(&watch->space_lock);
    watch->space = *space;
    watch->space_known = true;
    pthread_mutex_unlock(&watch->space_lock);
}

bool watch_last_space(struct watch *watch, struct statvfs *ret_space)
{
    bool known;

    if (watch == NULL)
        return false;
    pthread_mutex_lock(&watch->space_lock);
    known = watch->space_known;
    *ret_space = watch->space;
    pthread_mutex_unlock(&watch->space_lock);
    return known;
}
