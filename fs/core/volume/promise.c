/* SPDX-License-Identifier: MIT */
#include "fs/core/volume/promise.h"

/* Whether an epoch ended with everything synced. Epoch 0 did not: it never was, and fsck.fallsfs writes it into a
 * record when it does not know the epoch. */
static bool ended_well(const struct volume *volume, uint64_t epoch)
{
    return epoch > 0 && !epochs_has(&volume->unclean, epoch);
}

struct promise record_promise(const struct volume *volume, const struct record *record)
{
    if (record->padded && ended_well(volume, record->epoch))
        return (struct promise){ record->size, record->bits };
    return (struct promise){ record->durable_size, record->durable };
}

void record_keep_promise(struct record *record, const struct promise *promise)
{
    record->durable_size = promise->size;
    record->durable = promise->bits;
}

bool record_may_be_behind(const struct volume *volume, const struct record *record)
{
    return record->epoch <= epochs_last(&volume->unclean);
}
