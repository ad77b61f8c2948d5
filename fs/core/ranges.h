/* SPDX-License-Identifier: MIT */
/* Ranges of a file that somebody changes in two steps, reading first and writing back, and that nobody else may write
 * to meanwhile. They come first come, first served: a range waits for all before it that it overlaps.
 *
 *     0..99 held        200..299 held        50..249 waits for both        80..90 waits for the third
 *
 * Ordinary writes are not listed; they only look whether a range is in their way. */
#ifndef FALLSFS_FS_CORE_RANGES_H
#define FALLSFS_FS_CORE_RANGES_H

#include "layout/base.h"

#include <pthread.h>
#include <stdatomic.h>

struct range_held;

struct ranges {
    atomic_uint n; /* listed */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct range_held *first; /* lock; in order of arrival */
};

void ranges_init(struct ranges *ranges);
void ranges_done(struct ranges *ranges);

/* For this thread, until ranges_unlock with the same bounds. -ETIMEDOUT when a disk behind one before it seems to hang,
 * -ENOMEM. */
int ranges_lock(struct ranges *ranges, uint64_t lo, uint64_t hi);
void ranges_unlock(struct ranges *ranges, uint64_t lo, uint64_t hi);

/* Whether somebody else's range is in the way of this thread. */
bool ranges_block(struct ranges *ranges, uint64_t lo, uint64_t hi);

/* Waits until none is; -ETIMEDOUT as above. */
int ranges_wait(struct ranges *ranges, uint64_t lo, uint64_t hi);

#endif
