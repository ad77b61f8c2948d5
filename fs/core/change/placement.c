/* SPDX-License-Identifier: MIT */
#include "fs/core/change/placement.h"

double placement_fill(const struct placement_disk *disk)
{
    return (double) (disk->ours + disk->others) / (double) MAX(disk->size, 1);
}

static struct placement_disk *group_of(const struct placement *placement, uint32_t disk)
{
    return &placement->disk[placement->disk[disk].group];
}

static void take(struct placement *placement, uint32_t disk, uint64_t bytes)
{
    struct placement_disk *group = group_of(placement, disk);

    group->free -= MIN(bytes, group->free);
    placement->disk[disk].left -= (int64_t) bytes;
    placement->disk[disk].ours += bytes;
}

static void give_back(struct placement *placement, uint32_t disk, uint64_t bytes)
{
    group_of(placement, disk)->free += bytes;
    placement->disk[disk].left += (int64_t) bytes;
    placement->disk[disk].ours -= MIN(bytes, placement->disk[disk].ours);
}

static bool fits(const struct placement *placement, uint32_t disk, uint64_t bytes, bool leaves_reserve)
{
    uint64_t free = group_of(placement, disk)->free;
    uint64_t kept = leaves_reserve ? placement->disk[disk].reserve : 0;

    return free >= kept && free - kept >= bytes;
}

uint32_t placement_pool(const struct placement *placement, const struct placement_part part[], uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (placement->disk[part[i].disk].pool != placement->disk[part[0].disk].pool)
            return 0;
    return n > 0 ? placement->disk[part[0].disk].pool : 0;
}

/* A file whose parts are being given disks. */
struct deciding {
    struct placement *placement;
    struct placement_part *part;
    uint32_t n, pool, copies;
    uint32_t n_busy;   /* parts that are not idle */
    uint32_t *n_there; /* how many of them each disk has */
};

static int deciding_init(struct deciding *deciding, struct placement *placement, struct placement_part part[],
                         uint32_t n, uint32_t copies)
{
    *deciding = (struct deciding){
        .placement = placement, .part = part, .n = n, .pool = placement_pool(placement, part, n), .copies = copies
    };
    deciding->n_there = calloc(MAX(placement->n, 1), sizeof deciding->n_there[0]);
    if (deciding->n_there == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < n; i++) {
        deciding->n_there[part[i].disk] += !part[i].is_idle;
        deciding->n_busy += !part[i].is_idle;
    }
    return 0;
}

/* Whether a disk has all other parts of a file with two copies, so that one more would bring both copies together. */
static bool has_all_others(const struct deciding *deciding, uint32_t disk)
{
    return deciding->copies > 1 && deciding->n_there[disk] + 1 >= deciding->n_busy;
}

static void deciding_done(struct deciding *deciding)
{
    free(deciding->n_there);
}

/* Moves a part to another disk in the table. The disk that it leaves has no more free bytes for it: they are free only
 * when the part has been copied, so nobody may count on them. */
static void move(struct deciding *deciding, uint32_t at, uint32_t to)
{
    struct placement_part *part = &deciding->part[at];
    struct placement_disk *from = &deciding->placement->disk[part->disk];

    from->ours -= MIN(part->bytes, from->ours);
    take(deciding->placement, to, part->bytes);
    deciding->n_there[part->disk]--;
    deciding->n_there[to]++;
    part->disk = to;
}

/* -- leaving -- */

/* What makes a disk good for a part. The first of these that differs decides between two disks. */
struct merits {
    bool is_in_pool, leaves_reserve, is_not_home;
    uint32_t n_there;
    int64_t left;
};

static bool is_better(const struct merits *a, const struct merits *b)
{
    if (a->is_in_pool != b->is_in_pool)
        return a->is_in_pool;
    if (a->leaves_reserve != b->leaves_reserve)
        return a->leaves_reserve;
    if (a->is_not_home != b->is_not_home)
        return a->is_not_home;
    if (a->n_there != b->n_there)
        return a->n_there < b->n_there;
    return a->left > b->left;
}

/* Finds the best disk for a part that must leave its own; placement->n: no disk has room. *ret_meets: one has, but it
 * has the other copy. */
static uint32_t find_best(const struct deciding *deciding, uint64_t bytes, bool *ret_meets)
{
    const struct placement *placement = deciding->placement;
    struct merits best = { false };
    uint32_t found = placement->n;

    *ret_meets = false;
    for (uint32_t i = 0; i < placement->n; i++) {
        const struct placement_disk *disk = &placement->disk[i];
        struct merits here;

        if (!disk->takes || !fits(placement, i, bytes, false))
            continue;
        if (has_all_others(deciding, i)) {
            *ret_meets = true;
            continue;
        }
        here = (struct merits){ .is_in_pool = deciding->pool == 0 || disk->pool == deciding->pool,
                                .leaves_reserve = fits(placement, i, bytes, true),
                                .is_not_home = !disk->is_home,
                                .n_there = deciding->n_there[i],
                                .left = disk->left };
        if (found == placement->n || is_better(&here, &best)) {
            best = here;
            found = i;
        }
    }
    return found;
}

/* Finds the largest part that may not stay where it lies; n: there is none. */
static uint32_t find_leaving(const struct placement *placement, const struct placement_part part[], uint32_t n)
{
    uint32_t found = n;

    for (uint32_t i = 0; i < n; i++)
        if (!placement->disk[part[i].disk].stands && (found == n || part[i].bytes > part[found].bytes))
            found = i;
    return found;
}

static void undo(const struct deciding *deciding, const uint32_t before[])
{
    for (uint32_t i = 0; i < deciding->n; i++) {
        struct placement_part *part = &deciding->part[i];

        if (part->disk == before[i])
            continue;
        give_back(deciding->placement, part->disk, part->bytes);
        deciding->placement->disk[before[i]].ours += part->bytes;
        part->disk = before[i];
    }
}

int placement_leave(struct placement *placement, struct placement_part part[], uint32_t n, uint32_t copies,
                    uint64_t *ret_lacking)
{
    cleanup(freep) uint32_t *before = calloc(MAX(n, 1), sizeof *before);
    cleanup(deciding_done) struct deciding deciding = { .n_there = NULL };
    uint32_t at;

    if (before == NULL || deciding_init(&deciding, placement, part, n, copies) < 0)
        return -ENOMEM;
    for (uint32_t i = 0; i < n; i++)
        before[i] = part[i].disk;
    while ((at = find_leaving(placement, part, n)) < n) {
        bool meets;
        uint32_t to = find_best(&deciding, part[at].bytes, &meets);

        if (to == placement->n) {
            *ret_lacking = part[at].bytes;
            undo(&deciding, before);
            return meets ? -EEXIST : -ENOSPC;
        }
        move(&deciding, at, to);
    }
    return 0;
}

/* -- balancing -- */

static bool is_among(const struct placement_disk *disk, uint32_t pool)
{
    return disk->takes && (pool == 0 || disk->pool == pool);
}

/* Computes how full the disks of a pool, or of all for 0, would be if all were equally full. */
static double level(const struct placement *placement, uint32_t pool)
{
    double full = 0, size = 0;

    for (uint32_t i = 0; i < placement->n; i++)
        if (is_among(&placement->disk[i], pool)) {
            full += (double) (placement->disk[i].ours + placement->disk[i].others);
            size += (double) placement->disk[i].size;
        }
    return size > 0 ? full / size : 0;
}

bool placement_is_above(const struct placement *placement, uint32_t disk)
{
    return placement->disk[disk].takes && placement_fill(&placement->disk[disk]) > level(placement, 0);
}

double placement_tolerance(const struct placement *placement)
{
    double ours = 0, size = 0;

    for (uint32_t i = 0; i < placement->n; i++)
        if (placement->disk[i].takes) {
            ours += (double) placement->disk[i].ours;
            size += (double) placement->disk[i].size;
        }
    return size > 0 ? PLACEMENT_CLOSE * ours / size : 0;
}

double placement_spread(const struct placement *placement)
{
    double most = 0, least = 2;

    for (uint32_t i = 0; i < placement->n; i++) {
        const struct placement_disk *disk = &placement->disk[i];

        if (!disk->takes)
            continue;
        if (disk->ours > 0)
            most = MAX(most, placement_fill(disk));
        least = MIN(least, placement_fill(disk));
    }
    return most - least;
}

bool placement_is_even(const struct placement *placement)
{
    return placement_spread(placement) <= placement_tolerance(placement);
}

/* Whether two disks become more alike by moving bytes from one to the other: the first is fuller even when half of the
 * bytes have been moved. */
static bool evens(const struct placement_disk *from, const struct placement_disk *to, uint64_t bytes)
{
    double half = (double) bytes / 2;

    return placement_fill(from) - half / (double) MAX(from->size, 1) >
           placement_fill(to) + half / (double) MAX(to->size, 1);
}

static bool is_allowed(const struct deciding *deciding, uint32_t from, uint32_t to)
{
    switch (deciding->placement->way) {
    case PLACEMENT_APART:
        return deciding->n_there[to] < deciding->n_there[from];
    case PLACEMENT_PAIRED:
        return deciding->n_there[to] <= deciding->n_there[from];
    case PLACEMENT_TOGETHER:
        break;
    }
    return true;
}

/* Finds an emptier disk for a part: one without a part of the file if there is one, and then the emptiest.
 * placement->n: there is none, and stays has counted why. */
static uint32_t find_emptier(const struct deciding *deciding, uint32_t at, double average,
                             struct placement_stays *stays)
{
    const struct placement *placement = deciding->placement;
    const struct placement_disk *from = &placement->disk[deciding->part[at].disk];
    uint64_t bytes = deciding->part[at].bytes;
    uint32_t found = placement->n;
    double close = placement_tolerance(placement);
    bool any = false, any_evens = false;

    for (uint32_t i = 0; i < placement->n; i++) {
        const struct placement_disk *to = &placement->disk[i];
        bool is_unused = deciding->n_there[i] == 0, found_is_unused;

        if (!is_among(to, deciding->pool) || placement_fill(to) > average ||
            placement_fill(from) - placement_fill(to) <= close)
            continue;
        any = true;
        if (!evens(from, to, bytes) || !is_allowed(deciding, deciding->part[at].disk, i) || has_all_others(deciding, i))
            continue;
        any_evens = true;
        if (!fits(placement, i, bytes, true))
            continue;
        found_is_unused = found < placement->n && deciding->n_there[found] == 0;
        if (found == placement->n || is_unused > found_is_unused ||
            (is_unused == found_is_unused && placement_fill(to) < placement_fill(&placement->disk[found])))
            found = i;
    }
    if (found == placement->n)
        *(any_evens ? &stays->room : any ? &stays->large : &stays->pool) += bytes;
    return found;
}

int placement_even(struct placement *placement, struct placement_part part[], uint32_t n, uint32_t copies,
                   struct placement_stays *stays)
{
    cleanup(deciding_done) struct deciding deciding = { .n_there = NULL };
    int n_moved = 0;
    uint32_t to;

    if (deciding_init(&deciding, placement, part, n, copies) < 0)
        return -ENOMEM;
    for (uint32_t i = 0; i < n && !placement_is_even(placement); i++) {
        double average = level(placement, deciding.pool);

        if (part[i].bytes == 0 || !placement->disk[part[i].disk].takes ||
            placement_fill(&placement->disk[part[i].disk]) < average)
            continue;
        to = find_emptier(&deciding, i, average, stays);
        if (to == placement->n)
            continue;
        move(&deciding, i, to);
        n_moved++;
    }
    return n_moved;
}

void placement_note_free(struct placement *placement, uint32_t disk, uint64_t free)
{
    struct placement_disk *group = group_of(placement, disk);

    group->free = MIN(group->free, free);
}
