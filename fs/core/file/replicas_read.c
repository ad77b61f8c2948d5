/* SPDX-License-Identifier: MIT */
/* Which generation of a file is read. */
#include "fs/core/file/replicas.h"

#include "fs/core/file/plan.h"
#include "fs/core/file/subfile.h"
#include "fs/core/file/touched.h"
#include "fs/core/file/transfer.h"

#include <string.h>

/* -- what a replica has -- */

/* Whether a replica has bytes [lo, hi) as the file has them. */
static bool has(const struct replicas *replicas, uint32_t i, uint64_t lo, uint64_t hi) REQUIRES(replicas->lock)
{
    const struct replica_map *map = &replicas->map;
    const struct replica_entry *entry = &map->replica[i];
    const struct replica *replica = &replicas->replica[i];
    uint64_t from, to;

    return !replica->is_lost && lo >= entry->lo && hi <= entry->hi && replica_span(map, entry, lo, hi, &from, &to) &&
           !windows_has_any(&replica->wrong, from, to);
}

/* Whether the second copy has at least what an fsync has confirmed of these bytes: of those from byte confirmed on none
 * had confirmed any. */
static bool has_safely(const struct replicas *replicas, uint32_t i, uint64_t lo, uint64_t hi, uint64_t confirmed)
    REQUIRES(replicas->lock)
{
    const struct replica_map *map = &replicas->map;
    const struct replica *replica = &replicas->replica[i];
    uint64_t from = 0, to = 0;
    bool safe = !replica->is_lost && replica_span(map, &map->replica[i], lo, hi, &from, &to);

    for (uint64_t window = from; safe && window < to; window++)
        safe = !windows_has(&replica->wrong, window) || windows_has(&map->replica[i].safe, window) ||
               window << map->shift >= confirmed;
    return safe;
}

/* Whether a replica may be read in the file's place: nobody is writing there, who has reached the file alone so far. */
static bool may_be_read(struct file *file, uint32_t i, uint64_t lo, uint64_t hi)
{
    struct replicas *replicas = file->replicas;
    bool may;

    mutex_lock(&replicas->lock);
    may = !replicas->replica[i].is_failing && has(replicas, i, lo, hi);
    mutex_unlock(&replicas->lock);
    return may && !ranges_block(&file->ranges, lo, hi);
}

void replicas_note_failing(struct file *file, const struct generation *generation)
{
    struct replicas *replicas = file->replicas;

    for (uint32_t i = 0; i < replicas->map.n; i++)
        if (replicas->replica[i].generation == generation)
            replicas->replica[i].is_failing = true;
}

/* -- where the file fails -- */

/* Reads from the second copy those shares of a plan that the file has not given. */
static int read_shares(struct fs *fs, struct generation *copy, const struct plan *plan)
{
    struct plan again = *plan;
    int r;

    again.share = calloc(plan->n_shares, sizeof *again.share);
    again.n_shares = 0;
    if (again.share == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < plan->n_shares; i++)
        if (plan->share[i].done < plan->share[i].len) {
            again.share[again.n_shares] = plan->share[i];
            again.share[again.n_shares++].done = 0;
        }
    r = again.n_shares > 0 ? transfer_run(fs, copy, &again, false) : 0;
    if (r == 0)
        r = transfer_finish_read(fs, copy, &again);
    free(again.share);
    return r;
}

/* Reads all bytes of a plan for the file from a replica that lies otherwise. */
static int read_all(struct fs *fs, struct generation *generation, const struct plan *plan)
{
    cleanup(plan_done) struct plan other = { 0 };
    int r = plan_init(&other, generation->layout, plan->file_off, plan->len, plan->buf);

    if (r == 0)
        r = transfer_run(fs, generation, &other, false);
    return r < 0 ? r : transfer_finish_read(fs, generation, &other);
}

static int read_instead(struct fs *fs, struct file *file, const struct plan *plan, const struct lacking *lacking,
                        uint64_t confirmed)
{
    struct replicas *replicas = file->replicas;
    int r = lacking->error;

    for (uint32_t i = 0; r < 0 && i < replicas->map.n; i++) {
        bool is_copy = replica_is_copy(file, &replicas->map.replica[i]), may;

        mutex_lock(&replicas->lock);
        may = is_copy ? has_safely(replicas, i, lacking->lo, lacking->hi, confirmed)
                      : !lacking->is_share && has(replicas, i, lacking->lo, lacking->hi);
        mutex_unlock(&replicas->lock);
        if (!may)
            continue;
        r = is_copy ? read_shares(fs, replicas->replica[i].generation, plan)
                    : read_all(fs, replicas->replica[i].generation, plan);
        r = r < 0 ? lacking->error : 0;
    }
    return r;
}

int replicas_read_instead(struct fs *fs, struct file *file, const struct plan *plan, const struct lacking *lacking)
{
    if (file->replicas == NULL || lacking->error == -ENOMEM)
        return lacking->error;
    return read_instead(fs, file, plan, lacking, UINT64_MAX);
}

int replicas_read_for_good(struct fs *fs, struct file *file, const struct plan *plan, const struct lacking *lacking)
{
    uint64_t confirmed;

    if (file->replicas == NULL || lacking->error == -ENOMEM)
        return lacking->error;
    mutex_lock(&file->meta);
    confirmed = file->record.durable_size;
    mutex_unlock(&file->meta);
    return read_instead(fs, file, plan, lacking, confirmed);
}

/* -- where a replica is quicker -- */

#define MANY_DISKS 256
#define MUCH_LESS  0.7 /* of what reading the file costs, to leave what the disks may have cached of it */

/* A range that somebody wants to read. */
struct wanted {
    uint64_t file_off, len;
    const struct selection *only; /* or NULL */
    bool is_section;
};

/* What the disks have to do for a range. */
struct work {
    double of_disk[MANY_DISKS]; /* ns */
    bool has[MANY_DISKS];       /* the generation lies there */
};

/* What is read by itself waits for what the disk has to do before. */
static bool add_up(struct fs *fs, const struct generation *generation, const struct wanted *wanted,
                   const struct touched *touched, struct work *work)
{
    for (uint32_t slot = 0; slot < generation->n_slots; slot++) {
        uint64_t lo = file_layout_len(generation->layout, slot, wanted->file_off);
        uint64_t hi = file_layout_len(generation->layout, slot, wanted->file_off + wanted->len);
        uint32_t at = file_layout_disk(generation->layout, fs->volume->home, generation->rotate, slot) % MANY_DISKS;
        const struct disk *disk;
        double ns;

        work->has[at] = true;
        if (lo == hi || !touched_has(touched, slot))
            continue;
        if (subfile_disk(fs, generation, slot, &disk) < 0 || watch_refuses(disk->watch) < 0)
            return false;
        ns = disk_read_ns(disk, hi - lo);
        work->of_disk[at] +=
            wanted->is_section || disk->watch == NULL ? ns : ns * (double) (1 + watch_queue(disk->watch));
    }
    return true;
}

/* What it takes to read a range from a generation, in ns: until the disk that has most to do has done it. Of sections
 * many windows are read at a time, by several, and ahead: there it counts how much all disks have to do that the
 * generation lies on. The same window costs the same each time, so that it is read where it was sent for. Below 0: some
 * disk does not answer. */
static double cost_of(struct fs *fs, const struct generation *generation, const struct wanted *wanted)
{
    cleanup(touched_done) struct touched touched = { 0 };
    struct work work = { 0 };
    double most = 0, all = 0, n = 0;

    if (wanted->only != NULL &&
        touched_find(generation->layout, wanted->file_off, wanted->len, wanted->only, &touched) < 0)
        return -1;
    if (!add_up(fs, generation, wanted, &touched, &work))
        return -1;
    for (uint32_t i = 0; i < MANY_DISKS; i++) {
        most = MAX(most, work.of_disk[i]);
        all += work.of_disk[i];
        n += work.has[i];
    }
    return wanted->is_section ? all / MAX(n, 1) : most;
}

/* Whether a replica may be chosen at all: what is read by itself goes to one disk or another, where a file has both;
 * sections go where their pattern fits. */
static bool is_candidate(struct file *file, uint32_t i, const struct wanted *wanted)
{
    return (wanted->is_section || replica_is_copy(file, &file->replicas->map.replica[i])) &&
           may_be_read(file, i, wanted->file_off, wanted->file_off + wanted->len);
}

void replicas_weigh(struct fs *fs, struct file *file, uint64_t file_off, uint64_t len, const struct selection *only,
                    bool is_section, struct replicas_costs *ret_costs)
{
    const struct wanted wanted = { file_off, len, only, is_section };
    const uint32_t n = file->replicas != NULL ? file->replicas->map.n : 0;
    double least;

    *ret_costs = (struct replicas_costs){ .now = cost_of(fs, file->now, &wanted), .best = REPLICAS_NONE };
    least = ret_costs->now < 0 ? (double) INT64_MAX : ret_costs->now * MUCH_LESS;
    for (uint32_t i = 0; i < n; i++) {
        double cost = is_candidate(file, i, &wanted) ? cost_of(fs, file->replicas->replica[i].generation, &wanted) : -1;

        ret_costs->of[i] = cost;
        if (cost < 0 || cost >= least)
            continue;
        least = cost;
        ret_costs->best = i;
    }
}

struct generation *replicas_choose(struct fs *fs, struct file *file, uint64_t file_off, uint64_t len,
                                   const struct selection *only, bool is_section)
{
    struct replicas_costs costs;

    if (file->replicas == NULL || len == 0)
        return file->now;
    replicas_weigh(fs, file, file_off, len, only, is_section, &costs);
    return costs.best == REPLICAS_NONE ? file->now : file->replicas->replica[costs.best].generation;
}
