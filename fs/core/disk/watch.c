/* SPDX-License-Identifier: MIT */
#include "fs/core/disk/watch.h"

/* How many threads may wait for a stalled disk. */
#define MAX_STUCK 8

/* A disk is dead so many ms before its patience ends: whoever asks again right after a failure does not wait as long
 * once more. */
#define MARGIN 500

uint64_t watch_oldest(struct watch *watch)
{
    uint64_t taken = atomic_load(&watch->taken), oldest = UINT64_MAX, now;

    if (taken == 0)
        return 0;
    for (uint64_t rest = taken; rest != 0; rest &= rest - 1)
        oldest = MIN(oldest, atomic_load(&watch->since[__builtin_ctzll(rest)]));
    now = clock_ms();
    oldest /= 1000000;
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

static _Thread_local bool is_patient;

void watch_be_patient(bool patient)
{
    is_patient = patient;
}

static int refuse(struct watch *watch, int seat)
{
    atomic_fetch_add_explicit(&watch->n_refused, 1, memory_order_relaxed);
    return seat;
}

/* -- how long the disk is busy -- */

/* One number has both, so that no lock is needed: in its upper bits how many calls are under way, below when the first
 * of them came, in units of some microsecond. Differences are right for nine years, though the clock is cut off. */
#define UNIT      10 /* bits of a ns that are left out */
#define TIME_BITS 48
#define ONE_CALL  (UINT64_C(1) << TIME_BITS)
#define TIME      (ONE_CALL - 1)

static uint64_t in_units(uint64_t ns)
{
    return ns >> UNIT & TIME;
}

static void begin_call(struct watch *watch, uint64_t now)
{
    uint64_t was = atomic_load_explicit(&watch->under_way, memory_order_relaxed);

    while (!atomic_compare_exchange_weak(&watch->under_way, &was,
                                         was < ONE_CALL ? ONE_CALL | in_units(now) : was + ONE_CALL))
        ;
}

static void end_call(struct watch *watch, uint64_t now)
{
    uint64_t was = atomic_load_explicit(&watch->under_way, memory_order_relaxed);

    while (!atomic_compare_exchange_weak(&watch->under_way, &was, was - ONE_CALL))
        ;
    if (was >> TIME_BITS == 1)
        atomic_fetch_add(&watch->busy, (in_units(now) - was) & TIME);
}

/* Who looks between the two steps of end_call misses what the next one will see. */
uint64_t watch_busy(struct watch *watch)
{
    uint64_t busy = atomic_load(&watch->busy), now = atomic_load(&watch->under_way);
    uint64_t told = atomic_load(&watch->busy_told);

    if (now >= ONE_CALL)
        busy += (in_units(clock_ns()) - now) & TIME;
    while (told < busy && !atomic_compare_exchange_weak(&watch->busy_told, &told, busy))
        ;
    return MAX(told, busy) << UNIT;
}

/* -- seats -- */

int watch_enter(struct watch *watch, uint64_t *ret_began)
{
    uint64_t taken = atomic_load_explicit(&watch->taken, memory_order_relaxed);

    if (taken != 0 && is_dead(watch))
        return refuse(watch, WATCH_DEAD);
    /* watch_oldest looks at every seat that is taken: it is asked only when there are many. */
    if (__builtin_popcountll(taken) >= MAX_STUCK && !is_patient && watch_oldest(watch) > WATCH_STALL)
        return refuse(watch, WATCH_STALLED);
    *ret_began = clock_ns();
    begin_call(watch, *ret_began);
    while (taken != UINT64_MAX) {
        int seat = __builtin_ctzll(~taken);

        if (atomic_compare_exchange_weak(&watch->taken, &taken, taken | UINT64_C(1) << seat)) {
            atomic_store(&watch->since[seat], *ret_began);
            return seat;
        }
    }
    atomic_fetch_add(&watch->n_crowded, 1);
    return WATCH_CROWDED;
}

void watch_leave(struct watch *watch, int seat, uint64_t now)
{
    if (seat >= 0 || seat == WATCH_CROWDED)
        end_call(watch, now);
    if (seat == WATCH_CROWDED)
        atomic_fetch_sub(&watch->n_crowded, 1);
    if (seat < 0)
        return;
    assert((atomic_load(&watch->taken) >> seat & 1) != 0);
    /* Whoever takes the seat next must not seem to have waited since this thread came. */
    atomic_store(&watch->since[seat], UINT64_MAX);
    atomic_fetch_and(&watch->taken, ~(UINT64_C(1) << seat));
}

uint64_t watch_count(struct watch *watch, enum watch_kind kind, uint64_t began, int64_t result)
{
    bool moves = kind == WATCH_READS || kind == WATCH_WRITES;
    uint64_t now = clock_ns();

    if (kind != WATCH_READS || (result != -EAGAIN && result != -EOPNOTSUPP))
        tally_note(&watch->tally[kind], now - began, moves && result > 0 ? (uint64_t) result : 0);
    return now;
}

uint64_t watch_queue(struct watch *watch)
{
    return (uint64_t) __builtin_popcountll(atomic_load(&watch->taken)) + atomic_load(&watch->n_crowded);
}

bool watch_is_idle(struct watch *watch)
{
    return watch_queue(watch) == 0 && !atomic_load(&watch->measured);
}

int watch_new(uint64_t patience, const struct listener *listener, struct watch **ret_watch)
{
    struct watch *watch = calloc(1, sizeof *watch);

    if (watch == NULL)
        return -ENOMEM;
    watch->patience = patience;
    watch->listener = listener;
    for (int seat = 0; seat < WATCH_SEATS; seat++) /* 0 would say that its first owner waits since the clock began */
        atomic_init(&watch->since[seat], UINT64_MAX);
    mutex_init(&watch->space_lock);
    *ret_watch = watch;
    return 0;
}

void watch_free(struct watch *watch)
{
    if (watch == NULL)
        return;
    mutex_done(&watch->space_lock);
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

void watch_note_read_only(struct watch *watch, bool is_read_only)
{
    if (atomic_exchange(&watch->is_read_only, is_read_only) != is_read_only && watch->turn != NULL)
        atomic_fetch_add(watch->turn, 1);
}

void watch_note_space(struct watch *watch, const struct statvfs *space)
{
    if (watch == NULL)
        return;
    mutex_lock(&watch->space_lock);
    watch->space = *space;
    watch->space_known = true;
    mutex_unlock(&watch->space_lock);
}

bool watch_last_space(struct watch *watch, struct statvfs *ret_space)
{
    bool known;

    if (watch == NULL)
        return false;
    mutex_lock(&watch->space_lock);
    known = watch->space_known;
    *ret_space = watch->space;
    mutex_unlock(&watch->space_lock);
    return known;
}
