/* SPDX-License-Identifier: MIT */
/* Ranges of a file that somebody changes in two steps, reading first and writing back, and that nobody else may write
 * to meanwhile. They come first come, first served: a range waits for all before it that it overlaps.
 *
 *     0..99 held        200..299 held        50..249 waits for both        80..90 waits for the third
 *
 * Ordinary writes are not listed; they only look whether a range is in their way. What programs have to wait for each
 * other is counted; what waits for them in the background is not. */
#ifndef FALLSFS_FS_CORE_FILE_RANGES_H
#define FALLSFS_FS_CORE_FILE_RANGES_H

#include "fs/core/disk/mutex.h"
#include "fs/core/disk/tally.h"

struct range_held;

struct ranges {
    atomic_uint n;                            /* listed */
    atomic_uint_least64_t n_waits, waited_ns; /* of programs, so far */
    struct tally *waits;                      /* those of all files together; or NULL */
    struct mutex lock;
    struct cond changed;
    struct range_held *first; /* lock; in order of arrival */
};

/* waits outlives the ranges; or NULL. */
void ranges_init(struct ranges *ranges, struct tally *waits);
void ranges_done(struct ranges *ranges);

/* Locks a range for this thread, until ranges_unlock with the same bounds. -ETIMEDOUT: a disk behind a range before it
 * seems to hang; -ENOMEM. */
int ranges_lock(struct ranges *ranges, uint64_t lo, uint64_t hi);

/* The same for work in the background: that it waits for programs is not counted. */
int ranges_lock_behind(struct ranges *ranges, uint64_t lo, uint64_t hi);

/* Locks a range like ranges_lock, if nobody need be waited for. */
int ranges_try_lock(struct ranges *ranges, uint64_t lo, uint64_t hi);

void ranges_unlock(struct ranges *ranges, uint64_t lo, uint64_t hi);

/* Whether somebody else's range is in the way of this thread. */
bool ranges_block(struct ranges *ranges, uint64_t lo, uint64_t hi);

/* Waits until no range of somebody else is in the way of this thread. -ETIMEDOUT: a disk behind one seems to hang. */
int ranges_wait(struct ranges *ranges, uint64_t lo, uint64_t hi);

#endif
