/* SPDX-License-Identifier: MIT */
#include "fs/core/disk/tally.h"

#include <math.h>

static uint64_t look(const atomic_uint_least64_t *number)
{
    return atomic_load_explicit(number, memory_order_relaxed);
}

struct tally_view tally_look(const struct tally *tally)
{
    struct tally_view view = { .ns = look(&tally->ns), .bytes = look(&tally->bytes), .errors = look(&tally->errors) };

    for (uint32_t i = 0; i < TALLY_BUCKETS; i++) {
        view.bucket[i] = look(&tally->bucket[i]);
        view.n += view.bucket[i];
    }
    return view;
}

static uint64_t since(uint64_t before, uint64_t now)
{
    return now >= before ? now - before : now;
}

struct tally_view tally_since(const struct tally_view *before, const struct tally_view *now)
{
    struct tally_view view = { .ns = since(before->ns, now->ns),
                               .bytes = since(before->bytes, now->bytes),
                               .errors = since(before->errors, now->errors) };

    for (uint32_t i = 0; i < TALLY_BUCKETS; i++) {
        view.bucket[i] = since(before->bucket[i], now->bucket[i]);
        view.n += view.bucket[i];
    }
    return view;
}

double tally_bound(uint32_t bucket)
{
    return bucket + 1 < TALLY_BUCKETS ? (double) (UINT64_C(1) << bucket) / 1e6 : (double) INFINITY;
}

double tally_percentile(const struct tally_view *view, double share)
{
    double rank = share * (double) view->n, below = 0;

    for (uint32_t i = 0; i + 1 < TALLY_BUCKETS; i++) {
        double here = (double) view->bucket[i], from = i > 0 ? tally_bound(i - 1) : 0;

        if (here > 0 && below + here >= rank)
            return from + (tally_bound(i) - from) * MAX(rank - below, 0) / here;
        below += here;
    }
    return view->n > 0 ? tally_bound(TALLY_BUCKETS - 2) : 0;
}
