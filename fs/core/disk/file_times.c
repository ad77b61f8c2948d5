/* SPDX-License-Identifier: MIT */
#include "fs/core/disk/file_times.h"

#include "layout/clock.h"

#include <stdatomic.h>

static _Atomic int64_t newest; /* ns; of all stamps that were seen */

static int64_t ns_of(struct timespec time)
{
    return (int64_t) time.tv_sec * 1000000000 + time.tv_nsec;
}

void file_times_see(const struct stat *st)
{
    int64_t seen = ns_of(st->st_ctim), before = atomic_load_explicit(&newest, memory_order_relaxed);

    if (seen <= before || seen > ns_of(clock_wall())) /* a server's clock may be ahead: its stamps are no measure */
        return;
    while (seen > before && !atomic_compare_exchange_weak(&newest, &before, seen))
        ;
}

struct timespec file_times_now(void)
{
    struct timespec tick = clock_read(CLOCK_REALTIME_COARSE);
    int64_t seen = atomic_load(&newest);

    /* A stamp in the future is from before the clock was set back. */
    if (seen <= ns_of(tick) || seen > ns_of(clock_wall()))
        return tick;
    return (struct timespec){ .tv_sec = seen / 1000000000, .tv_nsec = seen % 1000000000 };
}
