/* SPDX-License-Identifier: MIT */
/* Where parts of files go when disks leave and when they are to be about as full: placement.h, and what relocation.h
 * makes of it. */
#include "fs/core/change/relocation.h"
#include "test/support/rng.h"
#include "test/support/texts.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <string.h>

#define MAX_DISKS 6
#define MAX_PARTS 6

/* A disk of a test's table, in bytes. pool 0: none. is: 'L' leaves, 'H' is the home disk. */
struct disk_row {
    uint64_t size, ours, others, reserve;
    uint32_t pool;
    char is;
};

static struct placement table_of(const struct disk_row row[], uint32_t n, struct placement_disk disk[])
{
    for (uint32_t i = 0; i < n; i++) {
        uint64_t used = row[i].ours + row[i].others;

        disk[i] = (struct placement_disk){ .size = row[i].size,
                                           .ours = row[i].ours,
                                           .others = row[i].others,
                                           .reserve = row[i].reserve,
                                           .pool = row[i].pool,
                                           .group = i,
                                           .free = row[i].size - MIN(used, row[i].size),
                                           .left = (int64_t) row[i].size - (int64_t) used,
                                           .takes = row[i].is != 'L',
                                           .stands = row[i].is != 'L',
                                           .is_home = row[i].is == 'H' };
    }
    return (struct placement){ .n = n, .disk = disk, .way = PLACEMENT_TOGETHER };
}

/* -- leaving -- */

struct leave_case {
    char why[64];
    struct disk_row disk[MAX_DISKS];
    struct placement_part part[MAX_PARTS];
    uint32_t n_disks, n_parts;
    int want;
    uint32_t to[MAX_PARTS], copies;
};

ParameterizedTestParameters(placement, leave)
{
    static struct leave_case rows[] = {
        { "the one with most bytes left",
          { { 100, 0, 50, 0, 0, 0 }, { 100, 9, 0, 0, 0, 'L' }, { 100, 0, 20, 0, 0, 0 }, { 100, 0, 30, 0, 0, 0 } },
          { { 1, 9, false } },
          4,
          1,
          0,
          { 2 },
          1 },
        { "the home disk last",
          { { 900, 0, 0, 0, 0, 'H' }, { 100, 9, 0, 0, 0, 'L' }, { 100, 0, 80, 0, 0, 0 } },
          { { 1, 9, false } },
          3,
          1,
          0,
          { 2 },
          1 },
        { "the home disk, when no other has room",
          { { 900, 0, 0, 0, 0, 'H' }, { 100, 9, 0, 0, 0, 'L' }, { 100, 0, 95, 0, 0, 0 } },
          { { 1, 9, false } },
          3,
          1,
          0,
          { 0 },
          1 },
        { "one that keeps its reserve, be it the home disk",
          { { 900, 0, 0, 9, 0, 'H' }, { 100, 9, 0, 0, 0, 'L' }, { 100, 0, 85, 9, 0, 0 } },
          { { 1, 9, false } },
          3,
          1,
          0,
          { 0 },
          1 },
        { "into the reserve, when all else fails",
          { { 100, 0, 95, 9, 0, 'H' }, { 100, 9, 0, 0, 0, 'L' }, { 100, 0, 85, 9, 0, 0 } },
          { { 1, 9, false } },
          3,
          1,
          0,
          { 2 },
          1 },
        { "one that the file has no part on",
          { { 100, 5, 0, 0, 0, 0 }, { 100, 5, 0, 0, 0, 'L' }, { 100, 0, 60, 0, 0, 0 } },
          { { 0, 5, false }, { 1, 5, false } },
          3,
          2,
          0,
          { 0, 2 },
          1 },
        { "one that it has, when there is no other",
          { { 100, 5, 0, 0, 0, 0 }, { 100, 5, 0, 0, 0, 'L' }, { 100, 5, 9, 0, 0, 0 } },
          { { 0, 5, false }, { 1, 5, false }, { 2, 5, false } },
          3,
          3,
          0,
          { 0, 0, 2 },
          1 },
        { "its pool",
          { { 100, 0, 0, 0, 1, 0 }, { 100, 9, 0, 0, 2, 'L' }, { 100, 0, 80, 0, 2, 0 } },
          { { 1, 9, false } },
          3,
          1,
          0,
          { 2 },
          1 },
        { "another pool, when its own has no room",
          { { 100, 0, 0, 0, 1, 0 }, { 100, 9, 0, 0, 2, 'L' }, { 100, 0, 95, 0, 2, 0 } },
          { { 1, 9, false } },
          3,
          1,
          0,
          { 0 },
          1 },
        { "a file in two pools is bound to none",
          { { 100, 5, 0, 0, 1, 0 }, { 100, 9, 0, 0, 2, 'L' }, { 100, 0, 80, 0, 2, 0 }, { 100, 0, 0, 0, 1, 0 } },
          { { 0, 5, false }, { 1, 9, false } },
          4,
          2,
          0,
          { 0, 3 },
          1 },
        { "large parts first",
          { { 100, 0, 60, 0, 0, 0 }, { 100, 35, 0, 0, 0, 'L' }, { 100, 0, 90, 0, 0, 0 } },
          { { 1, 5, false }, { 1, 30, false } },
          3,
          2,
          0,
          { 2, 0 },
          1 },
        { "each finds less room than the one before",
          { { 100, 0, 50, 0, 0, 0 }, { 100, 60, 0, 0, 0, 'L' }, { 100, 0, 55, 0, 0, 0 } },
          { { 1, 30, false }, { 1, 30, false } },
          3,
          2,
          0,
          { 0, 2 },
          1 },
        { "no room at all",
          { { 100, 0, 92, 0, 0, 0 }, { 100, 9, 0, 0, 0, 'L' } },
          { { 1, 9, false } },
          2,
          1,
          -ENOSPC,
          { 1 },
          1 },
        { "no room for one of them: all stay",
          { { 100, 0, 50, 0, 0, 0 }, { 100, 70, 0, 0, 0, 'L' } },
          { { 1, 40, false }, { 1, 30, false } },
          2,
          2,
          -ENOSPC,
          { 1, 1 },
          1 },
        { "what may stay does",
          { { 100, 9, 0, 0, 0, 0 }, { 100, 0, 0, 0, 0, 0 } },
          { { 0, 9, false } },
          2,
          1,
          0,
          { 0 },
          1 },
        { "two copies: not the disk that has the other",
          { { 100, 5, 0, 0, 1, 0 }, { 100, 5, 0, 0, 1, 'L' }, { 100, 0, 60, 0, 2, 'H' } },
          { { 0, 5, false }, { 1, 5, false } },
          3,
          2,
          0,
          { 0, 2 },
          2 },
        { "two copies of several: one that it has, but not for all",
          { { 100, 5, 0, 0, 1, 0 }, { 100, 10, 0, 0, 1, 'L' }, { 100, 0, 60, 0, 2, 0 } },
          { { 0, 5, false }, { 1, 5, false }, { 1, 4, false } },
          3,
          3,
          0,
          { 0, 0, 2 },
          2 },
        { "two copies: an idle part does not count",
          { { 100, 5, 0, 0, 0, 0 }, { 100, 5, 0, 0, 0, 'L' }, { 100, 0, 0, 0, 0, 0 } },
          { { 0, 5, false }, { 1, 5, false }, { 2, 0, true } },
          3,
          3,
          0,
          { 0, 2, 2 },
          2 },
        { "two copies and no third disk",
          { { 100, 5, 0, 0, 0, 0 }, { 100, 5, 0, 0, 0, 'L' } },
          { { 0, 5, false }, { 1, 5, false } },
          2,
          2,
          -EEXIST,
          { 0, 1 },
          2 },
        { "two copies, and the third disk is full",
          { { 100, 5, 0, 0, 0, 0 }, { 100, 5, 0, 0, 0, 'L' }, { 100, 0, 98, 0, 0, 0 } },
          { { 0, 5, false }, { 1, 5, false } },
          3,
          2,
          -EEXIST,
          { 0, 1, 0 },
          2 },
        { "two copies, and all are full",
          { { 100, 5, 94, 0, 0, 0 }, { 100, 5, 0, 0, 0, 'L' }, { 100, 0, 98, 0, 0, 0 } },
          { { 0, 5, false }, { 1, 5, false } },
          3,
          2,
          -ENOSPC,
          { 0, 1 },
          2 },
    };

    return cr_make_param_array(struct leave_case, rows, ARRAY_SIZE(rows));
}

static uint64_t sum_free(const struct placement *placement)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < placement->n; i++)
        sum += placement->disk[i].free;
    return sum;
}

ParameterizedTest(struct leave_case *row, placement, leave)
{
    struct placement_disk disk[MAX_DISKS];
    struct placement placement = table_of(row->disk, row->n_disks, disk);
    uint64_t lacking, free = sum_free(&placement), moved = 0;

    for (uint32_t i = 0; i < row->n_parts; i++)
        moved += row->to[i] != row->part[i].disk ? row->part[i].bytes : 0;
    cr_expect_eq(placement_leave(&placement, row->part, row->n_parts, row->copies, &lacking), row->want, "%s",
                 row->why);
    for (uint32_t i = 0; i < row->n_parts; i++)
        cr_expect_eq(row->part[i].disk, row->to[i], "%s: part %" PRIu32 " goes to d%" PRIu32 ", not d%" PRIu32,
                     row->why, i, row->part[i].disk, row->to[i]);
    cr_expect_eq(sum_free(&placement), free - moved, "%s", row->why);
}

/* -- an oracle: what the header says of leaving, as slowly as can be -- */

static uint64_t room_of(const struct placement *placement, uint32_t disk)
{
    return placement->disk[placement->disk[disk].group].free;
}

static bool oracle_fits(const struct placement *placement, uint32_t disk, uint64_t bytes, uint64_t kept)
{
    return placement->disk[disk].takes && room_of(placement, disk) >= kept + bytes;
}

static double oracle_count(const struct placement_part part[], uint32_t n, uint32_t disk)
{
    double count = 0;

    for (uint32_t i = 0; i < n; i++)
        count += part[i].disk == disk && !part[i].is_idle;
    return count;
}

/* Computes how good a disk is as one number, in which merits count in the order of the header: the larger is the
 * better. */
static double oracle_worth(const struct placement *placement, const struct placement_part part[], uint32_t n,
                           uint32_t pool, uint32_t disk, uint64_t bytes)
{
    const struct placement_disk *d = &placement->disk[disk];

    return (pool == 0 || d->pool == pool ? 64e12 : 0) + (oracle_fits(placement, disk, bytes, d->reserve) ? 32e12 : 0) +
           (d->is_home ? 0 : 16e12) - oracle_count(part, n, disk) * 1e12 + (double) d->left;
}

/* Whether a part would lie on a disk with all others that are not idle. */
static bool oracle_meets(const struct placement_part part[], uint32_t n, uint32_t at, uint32_t disk)
{
    for (uint32_t i = 0; i < n; i++)
        if (i != at && !part[i].is_idle && part[i].disk != disk)
            return false;
    return true;
}

static int oracle_leave(struct placement *placement, struct placement_part part[], uint32_t n, uint32_t pool,
                        uint32_t copies)
{
    for (;;) {
        uint32_t at = n, to = placement->n;
        bool meets = false;

        for (uint32_t i = n; i-- > 0;)
            if (!placement->disk[part[i].disk].stands && (at == n || part[i].bytes >= part[at].bytes))
                at = i;
        if (at == n)
            return 0;
        for (uint32_t i = placement->n; i-- > 0;)
            if (oracle_fits(placement, i, part[at].bytes, 0) && copies > 1 && oracle_meets(part, n, at, i))
                meets = true;
            else if (oracle_fits(placement, i, part[at].bytes, 0) &&
                     (to == placement->n || oracle_worth(placement, part, n, pool, i, part[at].bytes) >=
                                                oracle_worth(placement, part, n, pool, to, part[at].bytes)))
                to = i;
        if (to == placement->n)
            return meets ? -EEXIST : -ENOSPC;
        placement->disk[placement->disk[to].group].free -= part[at].bytes;
        placement->disk[to].left -= (int64_t) part[at].bytes;
        part[at].disk = to;
    }
}

static uint32_t make_random(struct rng *rng, struct placement_disk disk[MAX_DISKS], struct placement *ret,
                            struct placement_part part[MAX_PARTS])
{
    uint32_t n = (uint32_t) rng_between(rng, 2, MAX_DISKS), n_parts = (uint32_t) rng_between(rng, 1, MAX_PARTS);

    for (uint32_t i = 0; i < n; i++) {
        uint32_t group = i > 0 && rng_chance(rng, 20) ? disk[i - 1].group : i;
        bool stands = rng_chance(rng, 75);
        uint64_t size = rng_between(rng, 50, 400), others = rng_below(rng, size);

        disk[i] = (struct placement_disk){ .size = size,
                                           .others = others,
                                           .reserve = rng_chance(rng, 50) ? size / 10 : 0,
                                           .pool = (uint32_t) rng_below(rng, 3),
                                           .group = group,
                                           .free = group == i ? size - others : 0,
                                           .left = (int64_t) (size - others),
                                           .stands = stands,
                                           .takes = stands && rng_chance(rng, 90),
                                           .is_home = i == 0 };
    }
    *ret = (struct placement){ n, disk, PLACEMENT_TOGETHER };
    for (uint32_t i = 0; i < n_parts; i++) {
        struct placement_disk *on;

        part[i] = (struct placement_part){ (uint32_t) rng_below(rng, n), rng_below(rng, 60), false };
        on = &disk[part[i].disk];
        on->ours += part[i].bytes;
        on->left -= (int64_t) part[i].bytes;
        disk[on->group].free -= MIN(part[i].bytes, disk[on->group].free);
    }
    return n_parts;
}

Test(placement, leaves_as_it_is_said)
{
    for (struct rng rng = rng_from_env(20000); rng_next(&rng);) {
        struct placement_disk disk[MAX_DISKS], same[MAX_DISKS];
        struct placement placement, other;
        struct placement_part part[MAX_PARTS], wanted[MAX_PARTS], before[MAX_PARTS];
        uint32_t n = make_random(&rng, disk, &placement, part), copies = n > 1 && rng_chance(&rng, 40) ? 2 : 1;
        uint64_t lacking = 0;
        int r, want;

        memcpy(same, disk, sizeof same);
        memcpy(wanted, part, sizeof wanted);
        memcpy(before, part, sizeof before);
        other = (struct placement){ placement.n, same, PLACEMENT_TOGETHER };
        want = oracle_leave(&other, wanted, n, placement_pool(&placement, part, n), copies);
        r = placement_leave(&placement, part, n, copies, &lacking);
        cr_assert_eq(r, want, RNG_SEED, rng.seed);
        for (uint32_t i = 0; i < n; i++)
            cr_assert_eq(part[i].disk, r == 0 ? wanted[i].disk : before[i].disk, RNG_SEED " part %" PRIu32, rng.seed,
                         i);
        for (uint32_t i = 0; i < placement.n && r == 0; i++)
            cr_assert_eq(disk[i].free, same[i].free, RNG_SEED, rng.seed);
    }
}

/* A file of one part is refused only where no disk has room for it. */
Test(placement, one_part_is_refused_only_where_no_disk_has_room)
{
    for (struct rng rng = rng_from_env(20000); rng_next(&rng);) {
        struct placement_disk disk[MAX_DISKS];
        struct placement placement;
        struct placement_part part[MAX_PARTS];
        uint64_t lacking = 0;
        bool any = false;

        (void) make_random(&rng, disk, &placement, part);
        for (uint32_t i = 0; i < placement.n; i++)
            any |= oracle_fits(&placement, i, part[0].bytes, 0);
        any |= disk[part[0].disk].stands;
        cr_assert_eq(placement_leave(&placement, part, 1, 1, &lacking), any ? 0 : -ENOSPC, RNG_SEED, rng.seed);
        cr_assert(any || lacking == part[0].bytes, RNG_SEED, rng.seed);
    }
}

/* -- balancing -- */

static double unevenness(const struct placement *placement)
{
    double sum = 0;

    for (uint32_t i = 0; i < placement->n; i++)
        sum += placement_fill(&placement->disk[i]) * (double) (placement->disk[i].ours + placement->disk[i].others);
    return sum;
}

/* Whether moving any one part would still help, of all the moves that are allowed. */
static bool any_helps(const struct placement *placement, const struct placement_part part[], uint32_t n, uint32_t pool)
{
    double full = 0, size = 0, ours = 0, of_all = 0;

    for (uint32_t i = 0; i < placement->n; i++)
        if (placement->disk[i].takes) {
            bool in = pool == 0 || placement->disk[i].pool == pool;

            full += in ? (double) (placement->disk[i].ours + placement->disk[i].others) : 0;
            size += in ? (double) placement->disk[i].size : 0;
            ours += (double) placement->disk[i].ours;
            of_all += (double) placement->disk[i].size;
        }
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t to = 0; to < placement->n; to++) {
            struct placement_disk *a = &placement->disk[part[i].disk], *b = &placement->disk[to];
            double before = unevenness(placement), after, apart = placement_fill(a) - placement_fill(b);

            if (a == b || !a->takes || !b->takes || (pool != 0 && b->pool != pool) || part[i].bytes == 0 ||
                !oracle_fits(placement, to, part[i].bytes, b->reserve) || placement_fill(a) < full / size ||
                placement_fill(b) > full / size || apart <= PLACEMENT_CLOSE * ours / of_all)
                continue;
            a->ours -= part[i].bytes;
            b->ours += part[i].bytes;
            after = unevenness(placement);
            a->ours += part[i].bytes;
            b->ours -= part[i].bytes;
            if (after < before - 1e-9)
                return true;
        }
    return false;
}

static uint64_t least_reserve(const struct placement *placement, uint32_t disk)
{
    uint64_t least = UINT64_MAX;

    for (uint32_t i = 0; i < placement->n; i++)
        if (placement->disk[i].group == placement->disk[disk].group && placement->disk[i].takes)
            least = MIN(least, placement->disk[i].reserve);
    return least;
}

Test(placement, evens_until_nothing_helps)
{
    for (struct rng rng = rng_from_env(20000); rng_next(&rng);) {
        struct placement_disk disk[MAX_DISKS];
        struct placement placement;
        struct placement_part part[MAX_PARTS];
        struct placement_stays stays = { 0 };
        uint32_t n = make_random(&rng, disk, &placement, part), pool = placement_pool(&placement, part, n);
        uint64_t room[MAX_DISKS];
        int r = 1, rounds = 0;

        for (uint32_t i = 0; i < placement.n; i++)
            room[i] = room_of(&placement, i);
        while (r > 0) {
            double before = unevenness(&placement);

            r = placement_even(&placement, part, n, 1, &stays);
            cr_assert(r == 0 || unevenness(&placement) < before, RNG_SEED ": it got worse", rng.seed);
            cr_assert_lt(rounds++, 100, RNG_SEED ": it does not end", rng.seed);
            cr_assert(pool == 0 || placement_pool(&placement, part, n) == pool, RNG_SEED ": out of the pool", rng.seed);
        }
        cr_assert_eq(r, 0);
        cr_assert(placement_is_even(&placement) || !any_helps(&placement, part, n, placement_pool(&placement, part, n)),
                  RNG_SEED, rng.seed);
        for (uint32_t i = 0; i < placement.n; i++)
            cr_assert(room_of(&placement, i) == room[i] || room_of(&placement, i) >= least_reserve(&placement, i),
                      RNG_SEED ": no room is left on d%" PRIu32, rng.seed, i);
    }
}

/* A file with two copies, not all parts of which lie on one disk, never comes to lie on one. */
Test(placement, copies_stay_apart_when_disks_are_made_even)
{
    uint64_t n_moved = 0;

    for (struct rng rng = rng_from_env(20000); rng_next(&rng);) {
        struct placement_disk disk[MAX_DISKS];
        struct placement placement;
        struct placement_part part[MAX_PARTS];
        struct placement_stays stays = { 0 };
        uint32_t n = make_random(&rng, disk, &placement, part);

        placement.way = (enum placement_way) rng_below(&rng, PLACEMENT_WAYS);
        if (oracle_meets(part, n, 0, part[0].disk))
            continue;
        for (int r = 1; r > 0; n_moved += (uint64_t) r) {
            r = placement_even(&placement, part, n, 2, &stays);
            cr_assert_geq(r, 0);
            cr_assert_not(oracle_meets(part, n, 0, part[0].disk), RNG_SEED, rng.seed);
        }
    }
    cr_expect_gt(n_moved, 0);
}

Test(placement, an_empty_disk_gets_its_part)
{
    static const struct disk_row row[] = { { 1000, 970, 0, 10, 0, 'H' }, { 1000, 0, 0, 10, 0, 0 } };
    struct placement_disk disk[MAX_DISKS];
    struct placement placement = table_of(row, 2, disk);
    struct placement_stays stays = { 0 };
    uint32_t n_moved = 0;

    for (uint32_t i = 0; i < 97; i++) { /* files of one part each, all on the first disk */
        struct placement_part part = { 0, 10, false };

        n_moved += (uint32_t) placement_even(&placement, &part, 1, 1, &stays);
    }
    cr_expect(placement_is_even(&placement));
    cr_expect(n_moved >= 47 && n_moved <= 49, "%" PRIu32 " files moved", n_moved);
}

/* An empty disk that could take all three parts of a file gets as many of them as the way allows. */
Test(placement, parts_stay_apart_where_that_is_enough)
{
    static const struct disk_row row[] = {
        { 100, 90, 0, 0, 0, 'H' }, { 100, 90, 0, 0, 0, 0 }, { 100, 90, 0, 0, 0, 0 }, { 1000, 0, 0, 0, 0, 0 }
    };
    static const int want[PLACEMENT_WAYS] = { [PLACEMENT_APART] = 1, [PLACEMENT_PAIRED] = 2, [PLACEMENT_TOGETHER] = 3 };

    for (unsigned way = 0; way < PLACEMENT_WAYS; way++) {
        struct placement_part part[] = { { 0, 20, false }, { 1, 20, false }, { 2, 20, false }, { 3, 0, true } };
        struct placement_disk disk[MAX_DISKS];
        struct placement placement = table_of(row, 4, disk);
        struct placement_stays stays = { 0 };

        placement.way = (enum placement_way) way;
        cr_expect_eq(placement_even(&placement, part, 4, 1, &stays), want[way], "way %u", way);
    }
}

Test(placement, says_what_keeps_disks_uneven)
{
    static const struct disk_row pools[] = { { 100, 90, 0, 0, 1, 'H' }, { 100, 0, 0, 0, 2, 0 } };
    static const struct disk_row large[] = { { 100, 90, 0, 0, 0, 'H' }, { 100, 0, 0, 0, 0, 0 } };
    static const struct disk_row room[] = { { 100, 90, 0, 0, 0, 'H' }, { 100, 0, 0, 60, 0, 0 } };
    struct placement_disk disk[MAX_DISKS];
    struct placement placement = table_of(pools, 2, disk);
    struct placement_stays stays = { 0 };
    struct placement_part small = { 0, 45, false }, all = { 0, 90, false };

    cr_expect_eq(placement_even(&placement, &small, 1, 1, &stays), 0);
    cr_expect_eq(stays.pool, 45);
    placement = table_of(large, 2, disk);
    cr_expect_eq(placement_even(&placement, &all, 1, 1, &stays), 0);
    cr_expect_eq(stays.large, 90);
    placement = table_of(room, 2, disk);
    cr_expect_eq(placement_even(&placement, &small, 1, 1, &stays), 0);
    cr_expect_eq(stays.room, 45);
}

/* -- as layouts -- */

struct text_case {
    char why[64], text[96];
    uint32_t n_disks, leaves;
    uint16_t rotate;
    char want[96];
    uint32_t start;
};

ParameterizedTestParameters(placement, texts)
{
    static struct text_case rows[] = {
        { "another disk in its place", "stripe(64K) on d0-d2", 4, 1, 0, "stripe(64K) on d0,d3,d2", 0 },
        { "it stays where it starts", "stripe(64K) on d0-d2", 4, 1, 2, "stripe(64K) on d0,d3,d2", 2 },
        { "a disk that it has", "stripe(64K) on d0-d2", 3, 1, 0, "stripe(64K) on d0,d2,d2", 0 },
        { "as it was typed", " stripe ( 64K ) # mine\n on d1", 2, 1, 0, " stripe ( 64K ) # mine\n on d0", 0 },
        { "a place that no element has goes", "one on d0-d3", 4, 1, 3, "one on d0,d2-d3", 2 },
        { "one element goes to another place", "one on d0-d2", 3, 1, 1, "one on d0,d2", 1 },
        { "and what nobody lists takes its place", "one on d1", 3, 1, 0, "one on d2", 0 },
        { "elements that name disks", "{d1:(0,3,8,1);d0:(4,7,8,1)} on d0", 3, 1, 0, "{d2:(0,3,4,1);d0:(4,7,4,1)} on d0",
          0 },
        { "and lists that no element needs", "{d1:(0,3,8,1);d0:(4,7,8,1)} on d0-d1", 3, 1, 0,
          "{d2:(0,3,4,1);d0:(4,7,4,1)} on d0", 0 },
        { "what was written out by an earlier version", "{d0:(0,3,4,1);d2:(4,7,4,1);d2:(8,11,4,1)} on d0,d2", 4, 2, 0,
          "{d0:(0,3,4,1);d1:(4,7,4,1);d3:(8,11,4,1)} on d0", 0 },
        { "what need not move", "stripe(64K) on d0,d2", 4, 1, 0, "", 0 },
        { "copies", "stripe(64K) on d0-d2 copies 2", 4, 1, 0, "stripe(64K) on d0,d3,d2 copies 2", 0 },
        { "copies behind a comment", "stripe(64K) # on\n on d0-d2 copies 2 # two", 4, 1, 0,
          "stripe(64K) # on\n on d0,d3,d2 copies 2", 0 },
        { "copies on disks that it has", "stripe(64K) on d0-d2 copies 2", 3, 1, 2, "stripe(64K) on d0,d2,d2 copies 2",
          2 },
        { "the place of a copy is not idle", "one on d0-d2 copies 2", 4, 1, 0, "one on d0,d2,d2 copies 2", 0 },
        { "one that neither copy is at goes", "one on d0-d3 copies 2", 4, 1, 2, "one on d0,d2-d3 copies 2", 1 },
        { "one element with a copy keeps its place", "one on d0-d2 copies 2", 3, 1, 1, "one on d0,d0,d2 copies 2", 1 },
    };

    return cr_make_param_array(struct text_case, rows, ARRAY_SIZE(rows));
}

static struct file_layout laid_out(struct layout *layout)
{
    return (struct file_layout){
        .layout = layout, .pattern = layout->pattern, .n_list = layout->n_disks, .list = layout->disk
    };
}

ParameterizedTest(struct text_case *row, placement, texts)
{
    cleanup(layout_freep) struct layout *layout = NULL;
    cleanup(relocation_done) struct relocation relocation = { .text = NULL };
    struct disk_row disks[MAX_DISKS];
    struct placement_disk disk[MAX_DISKS];
    struct placement placement;
    struct file_layout laid;
    struct layout_error error;
    struct record record = { .rotate = row->rotate, .size = 1 << 20, .blocks = 2048 };
    uint64_t lacking;
    int r;

    memset(&record.bits, 0xff, sizeof record.bits);
    for (uint32_t i = 0; i < row->n_disks; i++)
        disks[i] = (struct disk_row){ UINT64_C(1) << 30, 0, 0, 0, 0, i == 0 ? 'H' : i == row->leaves ? 'L' : 0 };
    placement = table_of(disks, row->n_disks, disk);
    cr_assert_eq(layout_parse(row->text, strlen(row->text), 0, &layout, &error), 0, "%s: %s", row->why, error.why);
    laid = laid_out(layout);
    r = relocation_leave(&placement, &laid, &record, &relocation, &lacking);
    cr_assert_eq(r, row->want[0] != 0, "%s: %d", row->why, r);
    if (r == 1) {
        cr_expect_str_eq(relocation.text, row->want, "%s: %s", row->why, relocation.text);
        cr_expect_eq(relocation.start, row->start, "%s: start %" PRIu32, row->why, relocation.start);
    }
}

/* Two disks are too few for two copies when one of them leaves. */
Test(placement, the_second_last_disk_cannot_leave)
{
    static const struct disk_row row[] = { { 1 << 30, 0, 0, 0, 0, 'H' }, { 1 << 30, 0, 0, 0, 0, 'L' } };
    static const char *const text[] = { "one on d0,d1 copies 2", "stripe(64K,5) on d0,d1 copies 2" };

    for (size_t i = 0; i < ARRAY_SIZE(text); i++) {
        cleanup(layout_freep) struct layout *layout = layout_of(text[i]);
        cleanup(relocation_done) struct relocation relocation = { .text = NULL };
        struct placement_disk disk[MAX_DISKS];
        struct placement placement = table_of(row, 2, disk);
        const struct file_layout laid = laid_out(layout);
        struct record record = { .size = 1 << 20, .blocks = 2048 };
        uint64_t lacking;

        memset(&record.bits, 0xff, sizeof record.bits);
        cr_expect_eq(relocation_leave(&placement, &laid, &record, &relocation, &lacking), -EEXIST, "%s", text[i]);
        cr_expect_null(relocation.text);
    }
}

/* Balancing changes a list that the volume has chosen, and keeps one that somebody has typed. */
Test(placement, only_lists_that_nobody_typed_are_made_even)
{
    static const struct disk_row row[] = { { 1 << 20, 900 << 10, 0, 0, 0, 'H' }, { 1 << 20, 0, 0, 0, 0, 0 } };
    static const struct {
        char text[64];
        bool is_typed;
        int want;
        uint64_t named;
    } rows[] = {
        { "stripe(64K,2) on d0", false, 1, 0 },
        { "stripe(64K,2) on d0", true, 0, 512 << 10 },
        { "{d0:(0,65535,131072,1);d0:(65536,131071,131072,1)} on d0,d1", false, 0, 512 << 10 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        cleanup(layout_freep) struct layout *layout = NULL;
        cleanup(relocation_done) struct relocation relocation = { .text = NULL };
        struct placement_disk disk[MAX_DISKS];
        struct placement placement = table_of(row, 2, disk);
        struct placement_stays stays = { 0 };
        struct record record = { .size = 1 << 19, .blocks = 1 << 10 };
        struct layout_error error;
        struct file_layout laid;

        memset(&record.bits, 0xff, sizeof record.bits);
        cr_assert_eq(layout_parse(rows[i].text, strlen(rows[i].text), 0, &layout, &error), 0, "%s", error.why);
        laid = laid_out(layout);
        laid.is_typed = rows[i].is_typed;
        cr_expect_eq(relocation_even(&placement, &laid, &record, &stays, &relocation), rows[i].want, "%s",
                     rows[i].text);
        cr_expect_eq(stays.named, rows[i].named, "%s: %" PRIu64, rows[i].text, stays.named);
    }
}

/* Seven elements lie at one place of the list, on a disk that leaves: where no disk has room for all of them, each gets
 * a place of its own. */
Test(placement, a_place_too_large_for_any_disk_is_split)
{
    static const struct disk_row row[] = { { 1 << 20, 0, 0, 0, 0, 'H' },
                                           { 1 << 20, 600 << 10, 0, 0, 0, 'L' },
                                           { 320 << 10, 0, 0, 0, 0, 0 },
                                           { 320 << 10, 0, 0, 0, 0, 0 },
                                           { 320 << 10, 0, 0, 0, 0, 0 } };
    static const char text[] = "stripe(64K,7) on d1";
    cleanup(layout_freep) struct layout *layout = NULL;
    cleanup(relocation_done) struct relocation relocation = { .text = NULL };
    struct placement_disk disk[MAX_DISKS];
    struct placement placement = table_of(row, 5, disk);
    struct record record = { .size = 7 << 17, .blocks = 7 << 8 };
    struct layout_error error;
    struct file_layout laid;
    uint64_t lacking;

    disk[0].takes = false;
    memset(&record.bits, 0xff, sizeof record.bits);
    cr_assert_eq(layout_parse(text, strlen(text), 0, &layout, &error), 0);
    laid = laid_out(layout);
    cr_assert_eq(relocation_leave(&placement, &laid, &record, &relocation, &lacking),
                 -ENOSPC); /* 896K in parts of 128K, into 960K */
    cr_assert_eq(lacking, 128 << 10);
    disk[0].takes = true;
    disk[0].free = 128 << 10;
    cr_assert_eq(relocation_leave(&placement, &laid, &record, &relocation, &lacking), 1);
    cr_expect_str_eq(relocation.text, "stripe(64K,7) on d2-d4,d2-d4,d0");
}

Test(placement, what_is_spread_anew_names_no_disks)
{
    static const char *const row[][2] = {
        { "stripe(64K) on d0,d2", "stripe(64K)" },
        { "stripe(64K) on d0,d2 copies 2", "stripe(64K) copies 2" },
        { "stripe(64K) on d0,d2,d2", "stripe(64K)" },
        { "{d0:(0,3,4,1);d2:(4,7,4,1;4,2)} on d0,d2", "{(0,3,4,1;4,3)}" },
        { "{d0:(0,3,8,1);d1:(4,7,8,1)} on d0-d3", "{d0:(0,3,8,1);d1:(4,7,8,1)}" }, /* a user has typed this one */
    };

    for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
        cleanup(layout_freep) struct layout *layout = NULL;
        cleanup(freep) char *bare = NULL;
        struct layout_error error;

        cr_assert_eq(layout_parse(row[i][0], strlen(row[i][0]), 0, &layout, &error), 0);
        bare = relocation_bare(layout);
        cr_expect_str_eq(bare, row[i][1], "%s: %s", row[i][0], bare);
    }
}

/* -- where copies lie -- */

struct copy_case {
    char text[64], want[32], want_copy[32]; /* disks of the elements, and then of the header */
    uint32_t home;
    uint16_t rotate;
};

ParameterizedTestParameters(placement, copies)
{
    static struct copy_case rows[] = {
        { "stripe(1M,4) on d0-d3 copies 2", "0123", "1230", 0, 0 },
        { "stripe(1M,4) on d0-d3 copies 2", "2301", "3012", 0, 2 },
        { "stripe(1M,3) on d4,d2 copies 2", "424", "242", 0, 0 },
        { "one on d0-d3 copies 2", "3", "0", 0, 3 },
        { "one disp 8 on d0-d3 copies 2", "30", "01", 0, 3 },
        { "one disp 8 on d0-d3 copies 2", "33", "00", 3, 3 },
        { "one disp 8 on d1-d3 copies 2", "30", "11", 0, 2 },
        { "one disp 8 on d1-d3 copies 2", "10", "22", 0, 0 },
        { "stripe(1M,3) on d0,d1,d1 copies 2", "011", "100", 0, 0 },
        { "stripe(1M,3) disp 1 on d1,d1,d0 copies 2", "1101", "0010", 1, 0 },
        { "stripe(1M,5) on d0,d0,d1,d1,d2 copies 2", "00112", "11220", 0, 0 },
        { "stripe(1M,5) on d0,d1,d2,d0,d0 copies 2", "01200", "12011", 0, 0 },
        { "stripe(1M,3) disp 1 on d0,d1,d0 copies 2", "1000", "0111", 0, 1 },
    };

    return cr_make_param_array(struct copy_case, rows, ARRAY_SIZE(rows));
}

static void print_disks(const struct file_layout *laid, uint32_t home, uint16_t rotate, char text[static 32])
{
    uint32_t n = file_layout_slots(laid);

    for (uint32_t slot = 0; slot < n; slot++)
        text[slot] = (char) ('0' + file_layout_disk(laid, home, rotate, slot));
    text[n] = 0;
}

ParameterizedTest(struct copy_case *row, placement, copies)
{
    cleanup(layout_freep) struct layout *layout = layout_of(row->text);
    const struct file_layout laid = laid_out(layout);
    uint16_t copy = file_layout_copy_rotate(&laid, row->rotate);
    char got[32];

    cr_expect_eq(copy & ~ROTATE_COPY, (row->rotate + 1U) % laid.n_list);
    print_disks(&laid, row->home, row->rotate, got);
    cr_expect_str_eq(got, row->want, "%s: %s, not %s", row->text, got, row->want);
    print_disks(&laid, row->home, copy, got);
    cr_expect_str_eq(got, row->want_copy, "%s: copies on %s, not %s", row->text, got, row->want_copy);
}

Test(placement, a_layout_with_copies_is_another_one)
{
    static const char *const text[] = { "one on d0,d1", "{(0,0,1,1)} on d0-d1 copies 1", "one on d0-d1 copies 2",
                                        "{(0,0,1,1)} on d0,d1 copies 2 # twice" };

    for (size_t i = 0; i < ARRAY_SIZE(text); i++)
        for (size_t j = 0; j < i; j++) {
            cleanup(layout_freep) struct layout *a = layout_of(text[i]), *b = layout_of(text[j]);
            struct file_layout laid_a = laid_out(a), laid_b = laid_out(b);

            laid_a.hash[0] = 1; /* the texts differ, and so would their hashes */
            cr_expect_eq(file_layout_equals(&laid_a, &laid_b), a->copies == b->copies, "%s, %s", text[i], text[j]);
        }
}

/* Whether two places of a list that follow each other, the last and the first, too, are one disk. */
static bool repeats(const uint32_t list[], uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (list[i] == list[(i + 1) % n])
            return true;
    return false;
}

/* Where the copy of a slot lies, found by walking through the list written down three times. */
static uint32_t oracle_copy(const uint32_t list[], uint32_t n, uint32_t home, uint32_t rotate, uint32_t slot,
                            uint32_t n_elements)
{
    uint32_t is_on = slot < n_elements ? list[(rotate + slot) % n] : home, at = rotate % n + slot % n;

    if (slot == n_elements) {
        at = 0;
        while (at < n && list[at] != home)
            at++;
        if (at == n)
            return list[(rotate + 1) % n];
    }
    while (list[at % n] == is_on)
        at++;
    return list[at % n];
}

/* A random layout with two copies, in a list that may name disks again. */
struct copied {
    char text[128];
    uint32_t n, list[9], n_elements, home;
    uint16_t rotate;
    struct layout *layout;
    struct file_layout laid;
};

static void copied_done(struct copied *copied)
{
    layout_free(copied->layout);
}

/* False: the list names one disk alone, and the text is refused. */
static bool make_copied(struct rng *rng, struct copied *copied)
{
    struct layout_error error;
    bool differ = false;
    int len, r;

    *copied = (struct copied){ .n = (uint32_t) rng_between(rng, 1, 9),
                               .n_elements = (uint32_t) rng_between(rng, 1, 12),
                               .home = (uint32_t) rng_below(rng, 6) };
    copied->rotate = (uint16_t) rng_below(rng, copied->n);
    len = sprintf(copied->text, "stripe(4K,%" PRIu32 ") disp %" PRIu64 " on", copied->n_elements, rng_below(rng, 2));
    for (uint32_t i = 0; i < copied->n; i++) {
        copied->list[i] = (uint32_t) rng_below(rng, rng_chance(rng, 50) ? 2 : 5);
        differ |= copied->list[i] != copied->list[0];
        len += sprintf(copied->text + len, "%sd%" PRIu32, i == 0 ? " " : ",", copied->list[i]);
    }
    len += sprintf(copied->text + len, " copies 2");
    r = layout_parse(copied->text, (size_t) len, 0, &copied->layout, &error);
    cr_assert_eq(r, differ ? 0 : -EINVAL, RNG_SEED ": %s: %d", rng->seed, copied->text, r);
    if (r == 0)
        copied->laid = laid_out(copied->layout);
    return r == 0;
}

/* No slot of a copy lies on the disk of the same slot of the file, so no disk that is lost takes both. */
Test(placement, a_copy_lies_on_another_disk)
{
    unsigned n_repeating = 0, n_header = 0;

    for (struct rng rng = rng_from_env(20000); rng_next(&rng);) {
        cleanup(copied_done) struct copied copied;
        uint16_t copy;

        if (!make_copied(&rng, &copied))
            continue;
        copy = file_layout_copy_rotate(&copied.laid, copied.rotate);
        n_repeating += repeats(copied.list, copied.n);
        n_header += copied.layout->disp > 0;
        for (uint32_t slot = 0; slot < file_layout_slots(&copied.laid); slot++) {
            uint32_t is_on = file_layout_disk(&copied.laid, copied.home, copied.rotate, slot);
            uint32_t copy_on = file_layout_disk(&copied.laid, copied.home, copy, slot);

            cr_assert_neq(is_on, copy_on, RNG_SEED ": %s: slot %" PRIu32, rng.seed, copied.text, slot);
            cr_assert_eq(copy_on,
                         oracle_copy(copied.list, copied.n, copied.home, copied.rotate, slot, copied.n_elements),
                         RNG_SEED ": %s, rotate %u: slot %" PRIu32 " on d%" PRIu32, rng.seed, copied.text,
                         copied.rotate, slot, copy_on);
            cr_assert(slot == copied.n_elements || repeats(copied.list, copied.n) ||
                          copy_on == copied.list[((copy & ~ROTATE_COPY) + slot) % copied.n],
                      RNG_SEED ": %s: not one further on", rng.seed, copied.text);
        }
    }
    cr_expect_gt(n_repeating, 0);
    cr_expect_gt(n_header, 0);
}

/* Who empties disks or makes them even counts what lies on each of them, in both copies; and a disk that leaves leaves
 * behind a layout whose copies lie apart. */
Test(placement, copies_count_where_they_lie_and_leave_apart)
{
    unsigned n_left = 0, n_stay = 0;

    for (struct rng rng = rng_from_env(20000); rng_next(&rng);) {
        cleanup(copied_done) struct copied copied;
        cleanup(relocation_done) struct relocation relocation = { .text = NULL };
        cleanup(layout_freep) struct layout *next = NULL;
        struct disk_row row[MAX_DISKS];
        struct placement_disk disk[MAX_DISKS];
        struct placement placement;
        struct record record = { .size = rng_below(&rng, 20) << 12, .blocks = UINT64_MAX };
        uint32_t n = (uint32_t) rng_between(&rng, 5, MAX_DISKS), gone = (uint32_t) rng_below(&rng, 5);
        uint64_t want[MAX_DISKS] = { 0 }, lacking;
        struct layout_error error;
        int r;

        if (!make_copied(&rng, &copied))
            continue;
        memset(&record.bits, 0xff, sizeof record.bits);
        record.rotate = copied.rotate;
        for (uint32_t i = 0; i < n; i++) /* others than the first two may be full */
            row[i] =
                (struct disk_row){ 1 << 20, 0, i < 2 || rng_chance(&rng, 30) ? 0 : 1 << 20, 0, 0, i == gone ? 'L' : 0 };
        placement = table_of(row, n, disk);
        for (uint32_t i = 0; i < copied.n_elements; i++) {
            uint64_t bytes = (file_layout_len(&copied.laid, i, record.size) + 4095) & ~UINT64_C(4095);
            uint16_t copy = file_layout_copy_rotate(&copied.laid, copied.rotate);

            want[file_layout_disk(&copied.laid, copied.home, copied.rotate, i)] += bytes;
            want[file_layout_disk(&copied.laid, copied.home, copy, i)] += bytes;
        }
        cr_assert_eq(relocation_count(&placement, &copied.laid, &record), 0);
        for (uint32_t i = 0; i < n; i++)
            cr_assert_eq(disk[i].ours, want[i], RNG_SEED ": %s: d%" PRIu32, rng.seed, copied.text, i);
        r = relocation_leave(&placement, &copied.laid, &record, &relocation, &lacking);
        cr_assert(r == 0 || r == 1 || r == -EEXIST || r == -ENOSPC, RNG_SEED ": %s: %d", rng.seed, copied.text, r);
        n_stay += r == -EEXIST;
        if (r != 1)
            continue;
        n_left++;
        r = layout_parse(relocation.text, strlen(relocation.text), 0, &next, &error);
        cr_assert_eq(r, 0, RNG_SEED ": %s became %s: %s", rng.seed, copied.text, relocation.text, error.why);
        cr_assert_eq(next->copies, 2);
        for (uint32_t i = 0; i < next->n_disks; i++)
            cr_assert_neq(next->disk[i], gone, RNG_SEED ": %s became %s", rng.seed, copied.text, relocation.text);
    }
    cr_expect_gt(n_left, 0);
    cr_expect(n_stay > 0 || getenv("FALLSFS_MAX_CASES") != NULL); /* few do */
}
