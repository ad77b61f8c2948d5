/* SPDX-License-Identifier: MIT */
/* What time it is. Two clocks, and one way to read each:
 *
 *     steady    clock_ms, clock_us, clock_ns, clock_in_ms     how long something takes, until when somebody waits
 *     wall      clock_wall, clock_wall_in_ms                  times that files have; people may set it back
 *
 * Times of the steady clock are numbers in the unit that the name says, all since the same moment: those of one machine
 * can be compared, also between processes. */
#ifndef FALLSFS_LAYOUT_CLOCK_H
#define FALLSFS_LAYOUT_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline struct timespec clock_read(clockid_t clock)
{
    struct timespec now;

    (void) clock_gettime(clock, &now); /* these clocks never fail */
    return now;
}

static inline uint64_t clock_ns(void)
{
    struct timespec now = clock_read(CLOCK_MONOTONIC);

    return (uint64_t) now.tv_sec * 1000000000 + (uint64_t) now.tv_nsec;
}

static inline uint64_t clock_us(void)
{
    return clock_ns() / 1000;
}

/* Milliseconds, for who asks often: takes less time than the others, and may be a tick of the kernel behind them. */
static inline uint64_t clock_ms(void)
{
    struct timespec now = clock_read(CLOCK_MONOTONIC_COARSE);

    return (uint64_t) now.tv_sec * 1000 + (uint64_t) now.tv_nsec / 1000000;
}

/* When ms milliseconds will have passed, at the earliest. */
static inline uint64_t clock_in_ms(uint64_t ms)
{
    return clock_ns() / 1000000 + 1 + ms;
}

static inline struct timespec clock_wall(void)
{
    return clock_read(CLOCK_REALTIME);
}

/* The same by the wall's clock, for waits that know no other. */
static inline struct timespec clock_wall_in_ms(uint64_t ms)
{
    struct timespec when = clock_wall();

    when.tv_sec += (time_t) (ms / 1000);
    when.tv_nsec += (long) (ms % 1000) * 1000000;
    when.tv_sec += when.tv_nsec / 1000000000;
    when.tv_nsec %= 1000000000;
    return when;
}

#endif
