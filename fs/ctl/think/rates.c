/* SPDX-License-Identifier: MIT */
#include "fs/ctl/think/rates.h"

static bool is_same_mount(const struct stats *before, const struct stats *now)
{
    return before != NULL && before->began_ns == now->began_ns && before->mounted_ns < now->mounted_ns;
}

double rates_seconds(const struct stats *before, const struct stats *now)
{
    uint64_t ns = now->mounted_ns - (is_same_mount(before, now) ? before->mounted_ns : 0);

    return (double) MAX(ns, 1) / 1e9;
}

struct rates rates_of(const struct stats *before, const struct stats *now, const struct stats_disk *disk)
{
    static const struct stats_disk nothing = { .name = "" };
    const struct stats_disk *was = is_same_mount(before, now) ? stats_disk(before, disk->name) : NULL;
    struct rates rates = { .seconds = rates_seconds(before, now) };

    was = was != NULL ? was : &nothing;
    for (int kind = 0; kind < WATCH_KINDS; kind++) {
        struct tally_view did = tally_since(&was->kind[kind], &disk->kind[kind]);

        rates.calls[kind] = (double) did.n / rates.seconds;
        rates.bytes[kind] = (double) did.bytes / rates.seconds;
        rates.median[kind] = tally_percentile(&did, 0.5);
        rates.percentile[kind] = tally_percentile(&did, 0.99);
        rates.n_waiting += (double) did.ns / 1e9 / rates.seconds;
    }
    rates.busy = MIN((double) (disk->busy_ns - MIN(was->busy_ns, disk->busy_ns)) / 1e9 / rates.seconds, 1);
    rates.errors = disk->errors - MIN(was->errors, disk->errors);
    rates.refused = disk->refused - MIN(was->refused, disk->refused);
    return rates;
}

struct tally_view rates_operation(const struct stats *before, const struct stats *now,
                                  const struct stats_operation *operation)
{
    static const struct tally_view nothing = { .n = 0 };
    const struct stats_operation *was = is_same_mount(before, now) ? stats_operation(before, operation->name) : NULL;

    return tally_since(was != NULL ? &was->tally : &nothing, &operation->tally);
}
