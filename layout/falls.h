/* SPDX-License-Identifier: MIT */
/* A FALLS (l, r, s, n) is a family of n equal segments: bytes l..r, then again every s bytes.
 *
 *     (1, 2, 4, 3)      byte    0 1 2 3 4 5 6 7 8 9 10 11
 *                       member  . # # . . # # . . #  #  .
 *
 * One segment is called a block; a nested FALLS selects only part of each block (nest.h).
 * Pure arithmetic: no I/O, no locks, no allocation, safe from any thread. */
#ifndef FALLSFS_LAYOUT_FALLS_H
#define FALLSFS_LAYOUT_FALLS_H

#include "layout/base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FALLS_LIMIT     (UINT64_C(1) << 62) /* the last byte that has a place; no pattern is longer */
#define FALLS_MAX_DEPTH 16                  /* levels of nesting that a user may write */
#define FALLS_MAX_NODES 4096                /* FALLS in one layout, all levels and elements together */
#define FALLS_MAX_TEXT  (64u << 10)         /* bytes of notation */

struct falls {
    uint64_t l, r, s, n; /* l <= r, both included; s > r - l: no overlap; n >= 1 */
};

static inline uint64_t falls_len(const struct falls *f)
{
    return f->r - f->l + 1;
}

/* The byte after the last one that the FALLS selects. */
static inline uint64_t falls_end(const struct falls *f)
{
    return f->l + (f->n - 1) * f->s + falls_len(f);
}

/* How many whole blocks end at or before x. */
static inline uint64_t falls_blocks_before(const struct falls *f, uint64_t x)
{
    uint64_t first_end = f->r + 1;

    return x < first_end ? 0 : MIN((x - first_end) / f->s + 1, f->n);
}

/* 0, -EINVAL when the tuple is no FALLS, or -EOVERFLOW when it reaches past FALLS_LIMIT. */
static inline int falls_check(const struct falls *f)
{
    uint64_t span;

    if (f->l > f->r || f->n == 0 || f->s == 0)
        return -EINVAL;
    if (f->r >= FALLS_LIMIT || f->s > FALLS_LIMIT)
        return -EOVERFLOW;
    if (f->s < falls_len(f))
        return -EINVAL;
    if (mul_overflows(f->n - 1, f->s, &span) || span > FALLS_LIMIT || f->r + span >= FALLS_LIMIT)
        return -EOVERFLOW;
    return 0;
}

static inline uint64_t gcd_u64(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* The least common multiple of two positive numbers; true when it lies beyond FALLS_LIMIT. */
static inline bool lcm_overflows(uint64_t a, uint64_t b, uint64_t *ret)
{
    return mul_overflows(a / gcd_u64(a, b), b, ret) || *ret > FALLS_LIMIT;
}

/* Division by a number that is nearly always a power of two: div_shift says which power, or DIV_PLAIN when it is
 * none. */
#define DIV_PLAIN 64

static inline uint8_t div_shift(uint64_t by)
{
    return by != 0 && (by & (by - 1)) == 0 ? (uint8_t) __builtin_ctzll(by) : DIV_PLAIN;
}

static inline uint64_t div_by(uint64_t x, uint64_t by, uint8_t shift)
{
    return shift < DIV_PLAIN ? x >> shift : x / by;
}

#ifdef __cplusplus
}
#endif

#endif
