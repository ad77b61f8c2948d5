/* SPDX-License-Identifier: MIT */
#include "test/core/same_replicas.h"

#include "fs/core/file/plan.h"
#include "fs/core/file/replicas.h"
#include "fs/core/file/transfer.h"

#include <stdio.h>
#include <string.h>

static int read_replica(struct fs *fs, struct generation *generation, uint64_t lo, uint64_t hi, uint8_t *bytes)
{
    cleanup(plan_done) struct plan plan = { 0 };
    int r = plan_init(&plan, generation->layout, lo, hi - lo, bytes);

    if (r == 0)
        r = transfer_run(fs, generation, &plan, false);
    return r < 0 ? r : transfer_finish_read(fs, generation, &plan);
}

static int compare(struct fs *fs, struct generation *generation, uint64_t lo, uint64_t hi, const uint8_t *bytes,
                   char why[static SAME_WHY])
{
    cleanup(freep) uint8_t *has = malloc(hi - lo);
    int r = has == NULL ? -ENOMEM : read_replica(fs, generation, lo, hi, has);

    for (uint64_t at = lo; r == 0 && at < hi; at++)
        if (has[at - lo] != bytes[at]) {
            snprintf(why, SAME_WHY, "has %u at byte %" PRIu64 ", where the file has %u", has[at - lo], at, bytes[at]);
            r = -EUCLEAN;
        }
    return r;
}

static int say(uint64_t window, const char *what, char why[static SAME_WHY])
{
    snprintf(why, SAME_WHY, "window %" PRIu64 " %s", window, what);
    return -EUCLEAN;
}

/* Looks at one window of one replica. */
static int look_at(struct fs *fs, struct file *file, uint32_t i, uint64_t k, const uint8_t *bytes,
                   char why[static SAME_WHY])
{
    const struct replica_map *map = &file->replicas->map;
    const struct replica_entry *entry = &map->replica[i];
    const struct replica *replica = &file->replicas->replica[i];
    const uint64_t lo = MAX(k << map->shift, entry->lo),
                   hi = MIN(MIN((k + 1) << map->shift, file_size(file)), entry->hi);

    if (windows_has(&entry->right, k) && windows_has(&replica->wrong, k))
        return say(k, "is right and wrong", why);
    if (windows_has(&entry->right, k) && !windows_has(&replica->right, k))
        return say(k, "would not be taken back", why);
    if (windows_has(&replica->wrong, k) || lo >= hi)
        return 0;
    return compare(fs, replica->generation, lo, hi, bytes, why);
}

int same_replicas(struct fs *fs, struct file *file, const uint8_t *bytes, char ret_why[static SAME_WHY])
{
    const struct replicas *replicas = file->replicas;
    int r = 0;

    for (uint32_t i = 0; r == 0 && replicas != NULL && i < replicas->map.n; i++) {
        const struct replica_entry *entry = &replicas->map.replica[i];
        char why[SAME_WHY] = "";
        uint64_t from, to;

        if (replicas->replica[i].is_lost || !replica_span(&replicas->map, entry, 0, file_size(file), &from, &to))
            continue;
        for (uint64_t k = from; r == 0 && k < to; k++)
            r = look_at(fs, file, i, k, bytes, why);
        if (r == -EUCLEAN)
            snprintf(ret_why, SAME_WHY, "replica %u: %.200s", entry->number, why);
    }
    return r;
}
