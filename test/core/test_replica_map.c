/* SPDX-License-Identifier: MIT */
/* Maps of replicas, and sets of windows: what is read is what was written, or says less; never more. */
#include "fs/core/volume/replica_map.h"
#include "test/support/rng.h"

#include <criterion/criterion.h>
#include <string.h>

/* -- sets of windows, against one byte for each window -- */

#define SPAN 1000

static bool agree(const struct windows *set, const bool *oracle)
{
    uint64_t n = 0, end = 0, next = WINDOWS_MAX;

    for (uint64_t i = SPAN; i-- > 0;) {
        n += oracle[i];
        end = oracle[i] && end == 0 ? i + 1 : end;
        next = oracle[i] ? i : next;
        if (windows_has(set, i) != oracle[i] || windows_next(set, i) != next)
            return false;
    }
    return windows_count(set, SPAN) == n && windows_end(set) == end;
}

Test(windows, are_a_set)
{
    for (struct rng rng = rng_from_env(500); rng_next(&rng);) {
        struct windows set = { 0 }, copy;
        bool oracle[SPAN] = { false };

        for (int step = 0; step < 30; step++) {
            uint64_t lo = rng_below(&rng, SPAN), hi = rng_between(&rng, lo, rng_chance(&rng, 50) ? lo + 3 : SPAN);
            bool adds = rng_chance(&rng, 60), any = false, all = true;

            hi = MIN(hi, SPAN);
            for (uint64_t i = lo; i < hi; i++) {
                any |= oracle[i];
                all &= oracle[i];
            }
            cr_assert_eq(windows_has_any(&set, lo, hi), any, RNG_SEED, rng.seed);
            cr_assert_eq(windows_has_all(&set, lo, hi), all, RNG_SEED, rng.seed);
            for (uint64_t i = lo; i < hi; i++)
                oracle[i] = adds;
            if (adds)
                cr_assert(windows_add(&set, lo, hi));
            else
                windows_remove(&set, lo, hi);
            cr_assert(agree(&set, oracle), RNG_SEED ": step %d", rng.seed, step);
        }
        cr_assert_eq(windows_copy(&set, &copy), 0);
        cr_assert(agree(&copy, oracle), RNG_SEED, rng.seed);
        windows_remove(&copy, 0, SPAN / 2);
        cr_assert(windows_has_those(&set, &copy), RNG_SEED, rng.seed);
        cr_assert_eq(windows_has_those(&copy, &set), !windows_has_any(&set, 0, SPAN / 2), RNG_SEED, rng.seed);
        windows_and(&set, &copy);
        memset(oracle, 0, SPAN / 2);
        cr_assert(agree(&set, oracle), RNG_SEED, rng.seed);
        windows_done(&set);
        windows_done(&copy);
    }
}

Test(windows, borders)
{
    struct windows set = { 0 };

    cr_expect(windows_has_all(&set, 7, 7) && !windows_has_any(&set, 0, WINDOWS_MAX) && windows_end(&set) == 0);
    cr_assert(windows_add(&set, WINDOWS_MAX - 1, WINDOWS_MAX));
    cr_expect(windows_has(&set, WINDOWS_MAX - 1) && windows_next(&set, 0) == WINDOWS_MAX - 1);
    windows_remove(&set, 0, UINT64_MAX);
    cr_expect_eq(windows_next(&set, 0), WINDOWS_MAX);
    windows_done(&set);
}

/* -- maps -- */

static void random_windows(struct windows *set, struct rng *rng)
{
    uint64_t end = rng_chance(rng, 50) ? 100 : rng_between(rng, 1, WINDOWS_MAX);

    for (int i = 0; i < 20; i++) {
        uint64_t lo = rng_below(rng, end), hi = lo + rng_below(rng, end / 4 + 2);

        cr_assert(windows_add(set, lo, MIN(hi, end)));
    }
}

static void random_map(struct replica_map *map, struct rng *rng)
{
    memset(map, 0, sizeof *map);
    for (size_t i = 0; i < ID_SIZE; i++)
        map->id[i] = (uint8_t) rng_u64(rng);
    map->gen = rng_u64(rng);
    map->also_gen = rng_chance(rng, 50) ? map->gen : rng_u64(rng);
    map->series = rng_u64(rng);
    map->shift = (unsigned) rng_between(rng, REPLICA_MIN_SHIFT, 40);
    map->n = (uint32_t) rng_below(rng, REPLICAS_MAX + 1);
    map->next = (uint32_t) rng_between(rng, REPLICAS_MAX, 1000);
    for (uint32_t i = 0; i < map->n; i++) {
        struct replica_entry *entry = &map->replica[i];

        entry->number = map->next - 1 - i;
        entry->flags = (uint16_t) rng_below(rng, 8);
        entry->rotate = (uint16_t) rng_below(rng, 65536);
        entry->lo = rng_below(rng, 1 << 30);
        entry->hi = rng_chance(rng, 50) ? UINT64_MAX : entry->lo + rng_between(rng, 1, 1 << 30);
        for (size_t k = 0; k < HASH_SIZE; k++)
            entry->layout[k] = (uint8_t) rng_u64(rng);
        random_windows(&entry->right, rng);
        if (rng_chance(rng, 50))
            random_windows(&entry->safe, rng);
    }
}

static bool has_no_more(const struct windows *set, const struct windows *than)
{
    for (uint64_t i = 0; (i = windows_next(set, i)) < WINDOWS_MAX; i++)
        if (!windows_has(than, i))
            return false;
    return true;
}

/* Whether read says what map does, or less. */
static bool says_no_more(const struct replica_map *read, const struct replica_map *map)
{
    bool no_more = true;

    for (uint32_t i = 0; no_more && i < read->n; i++)
        no_more = has_no_more(&read->replica[i].right, &map->replica[i].right) &&
                  has_no_more(&read->replica[i].safe, &map->replica[i].safe);
    return no_more;
}

static bool same_head(const struct replica_map *a, const struct replica_map *b)
{
    bool same = memcmp(a->id, b->id, ID_SIZE) == 0 && a->gen == b->gen && a->also_gen == b->also_gen &&
                a->series == b->series && a->next == b->next && a->shift == b->shift && a->n == b->n;

    for (uint32_t i = 0; same && i < a->n; i++)
        same = a->replica[i].number == b->replica[i].number && a->replica[i].flags == b->replica[i].flags &&
               a->replica[i].rotate == b->replica[i].rotate && a->replica[i].lo == b->replica[i].lo &&
               a->replica[i].hi == b->replica[i].hi &&
               memcmp(a->replica[i].layout, b->replica[i].layout, HASH_SIZE) == 0;
    return same;
}

static uint8_t bytes[REPLICA_MAP_MAX];

Test(replica_map, comes_back)
{
    for (struct rng rng = rng_from_env(200); rng_next(&rng);) {
        struct replica_map map, read;

        random_map(&map, &rng);
        cr_assert_leq(replica_map_len(&map), sizeof bytes);
        replica_map_encode(&map, bytes);
        cr_assert_eq(replica_map_decode(bytes, replica_map_len(&map), &read), 0, RNG_SEED, rng.seed);
        cr_assert(same_head(&map, &read) && says_no_more(&read, &map) && says_no_more(&map, &read), RNG_SEED, rng.seed);
        replica_map_done(&map);
        replica_map_done(&read);
    }
}

/* A bit that was flipped takes the bits of its block, or the whole map; so does what is cut off. */
Test(replica_map, flipped_bits)
{
    for (struct rng rng = rng_from_env(2000); rng_next(&rng);) {
        struct replica_map map, read = { 0 };
        size_t len, at;
        int r;

        random_map(&map, &rng);
        replica_map_encode(&map, bytes);
        len = replica_map_len(&map);
        at = rng_chance(&rng, 30) ? rng_below(&rng, REPLICA_MAP_BLOCK) : rng_below(&rng, len);
        bytes[at] ^= (uint8_t) (1u << rng_below(&rng, 8));
        r = replica_map_decode(bytes, rng_chance(&rng, 20) ? rng_below(&rng, len + 1) : len, &read);
        cr_assert(at < REPLICA_MAP_BLOCK ? r == -EUCLEAN : r == 0 || r == -EUCLEAN, RNG_SEED ": %d", rng.seed, r);
        cr_assert(r < 0 || says_no_more(&read, &map), RNG_SEED, rng.seed);
        replica_map_done(&map);
        replica_map_done(&read);
    }
}

/* A block that is of an older head, or of a replica that had its place before, says nothing. */
Test(replica_map, blocks_of_others)
{
    for (struct rng rng = rng_from_env(300); rng_next(&rng);) {
        struct replica_map map, other, read;

        random_map(&map, &rng);
        if (map.n > 0) {
            replica_map_encode(&map, bytes);
            other = map;
            if (rng_chance(&rng, 50))
                other.series++;
            else
                other.replica[0].number = other.next++;
            replica_map_encode_block(&other, 0, 0, bytes + replica_block_off(&map, 0, 0));
            cr_assert_eq(replica_map_decode(bytes, replica_map_len(&map), &read), 0);
            cr_assert(says_no_more(&read, &map), RNG_SEED, rng.seed);
            cr_assert_geq(windows_next(&read.replica[0].right, 0), REPLICA_BLOCK_BITS, RNG_SEED, rng.seed);
            cr_assert_geq(windows_next(&read.replica[0].safe, 0), REPLICA_BLOCK_BITS, RNG_SEED, rng.seed);
            replica_map_done(&read);
        }
        replica_map_done(&map);
    }
}

/* Of two maps of a file windows are right that both call so, of the same replica and generation, and safe that one
 * does. */
Test(replica_map, two_maps)
{
    for (struct rng rng = rng_from_env(300); rng_next(&rng);) {
        struct replica_map map, other, before;
        bool counts;

        random_map(&map, &rng);
        replica_map_encode(&map, bytes);
        cr_assert_eq(replica_map_decode(bytes, replica_map_len(&map), &before), 0);
        cr_assert_eq(replica_map_decode(bytes, replica_map_len(&map), &other), 0);
        for (uint32_t i = 0; i < other.n; i++) {
            windows_remove(&other.replica[i].right, 3, 70);
            windows_remove(&map.replica[i].safe, 3, 70);
            windows_remove(&other.replica[i].safe, 50, 100);
        }
        if (rng_chance(&rng, 30))
            other.gen = other.also_gen = map.gen + 1;
        if (map.n > 0 && rng_chance(&rng, 30))
            other.replica[0].number = other.next++;
        counts = replica_map_is_of(&other, map.gen);
        cr_assert_eq(replica_map_join(&map, &other, map.gen), 0);
        for (uint32_t i = 0; i < map.n; i++)
            for (uint64_t k = 0; k < 200; k++) {
                bool same = counts && other.replica[i].number == map.replica[i].number;
                bool right = same && windows_has(&before.replica[i].right, k) && !(k >= 3 && k < 70);
                bool safe = windows_has(&before.replica[i].safe, k) && (!(k >= 3 && k < 70) || (same && k < 50));

                cr_assert_eq(windows_has(&map.replica[i].right, k), right, RNG_SEED ": %" PRIu64, rng.seed, k);
                cr_assert_eq(windows_has(&map.replica[i].safe, k), safe, RNG_SEED ": %" PRIu64, rng.seed, k);
            }
        replica_map_done(&map);
        replica_map_done(&other);
        replica_map_done(&before);
    }
}

Test(replica_map, larger_windows)
{
    for (struct rng rng = rng_from_env(100); rng_next(&rng);) {
        unsigned by = (unsigned) rng_below(&rng, 19);
        struct windows fine = { 0 }, coarse;

        random_windows(&fine, &rng);
        cr_assert_eq(windows_copy(&fine, &coarse), 0);
        cr_assert_eq(replica_coarsen(&coarse, by), 0);
        for (uint64_t window = 0; window < 2000; window++) {
            bool all = (window + 1) << by <= WINDOWS_MAX;

            for (uint64_t k = window << by; all && k < (window + 1) << by; k++)
                all = windows_has(&fine, k);
            cr_assert_eq(windows_has(&coarse, window), all, RNG_SEED ": window %" PRIu64, rng.seed, window);
        }
        windows_done(&fine);
        windows_done(&coarse);
    }
}

Test(replica_map, windows)
{
    cr_expect_eq(replica_shift(REPLICA_USUAL_SHIFT, 0), 20);
    cr_expect_eq(replica_shift(REPLICA_USUAL_SHIFT, UINT64_C(64) << 30), 20);
    cr_expect_eq(replica_shift(REPLICA_USUAL_SHIFT, (UINT64_C(64) << 30) + 1), 21);
    cr_expect_eq(replica_shift(REPLICA_USUAL_SHIFT, UINT64_C(1) << 62), 46);
    cr_expect_eq(replica_block_of(WINDOWS_MAX - 1), REPLICA_BLOCKS - 1);
}
