/* SPDX-License-Identifier: MIT */
/* How often something was done, how much of it, and how long it took. Each time falls into one bucket, whose bounds are
 * powers of two of microseconds:
 *
 *     bucket     0        1        2        3         ...  26               27
 *     took     <= 1 us  <= 2 us  <= 4 us  <= 8 us     ...  <= 2^26 us: 67 s  longer
 *
 * Whoever counts takes no lock and waits for nobody. Who reads while others count gets each number as it was at some
 * moment, and no number ever goes back. */
#ifndef FALLSFS_FS_CORE_DISK_TALLY_H
#define FALLSFS_FS_CORE_DISK_TALLY_H

#include "layout/base.h"

#include <stdatomic.h>

#define TALLY_BUCKETS 28

struct tally {
    atomic_uint_least64_t bucket[TALLY_BUCKETS];
    atomic_uint_least64_t ns;     /* of all together */
    atomic_uint_least64_t bytes;  /* that were moved */
    atomic_uint_least64_t errors; /* how many of them failed */
};

/* What a tally said at some moment. */
struct tally_view {
    uint64_t bucket[TALLY_BUCKETS];
    uint64_t n; /* of all buckets */
    uint64_t ns, bytes, errors;
};

/* The bucket of what took so long. */
static inline uint32_t tally_bucket(uint64_t ns)
{
    uint64_t us = ns / 1000 + (ns % 1000 > 0);
    uint32_t bucket = us <= 1 ? 0 : 64 - (uint32_t) __builtin_clzll(us - 1);

    return MIN(bucket, TALLY_BUCKETS - 1);
}

/* Counts what took so long and moved so many bytes. */
static inline void tally_note(struct tally *tally, uint64_t ns, uint64_t bytes)
{
    atomic_fetch_add_explicit(&tally->bucket[tally_bucket(ns)], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&tally->ns, ns, memory_order_relaxed);
    if (bytes > 0)
        atomic_fetch_add_explicit(&tally->bytes, bytes, memory_order_relaxed);
}

/* Counts that something failed which is noted besides. */
static inline void tally_note_error(struct tally *tally)
{
    atomic_fetch_add_explicit(&tally->errors, 1, memory_order_relaxed);
}

struct tally_view tally_look(const struct tally *tally);

/* What came between two looks. A number that went back, as when the daemon began anew, counts from nothing. */
struct tally_view tally_since(const struct tally_view *before, const struct tally_view *now);

/* The seconds that a share of all, as 0.99, took no longer than: as if those of a bucket lay evenly between its bounds.
 * Of those that took longer than the last bound, that bound. 0 when nothing was counted. */
double tally_percentile(const struct tally_view *view, double share);

/* The upper bound of a bucket in seconds; of the last bucket none: infinity. */
double tally_bound(uint32_t bucket);

#endif
