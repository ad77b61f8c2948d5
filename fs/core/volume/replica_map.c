/* SPDX-License-Identifier: MIT */
#include "fs/core/volume/replica_map.h"

#include "fs/core/volume/bytes.h"

#include <string.h>
#include <xxhash.h>

static const char magic[8] = { 'F', 'A', 'L', 'L', 'S', 'M', 'A', 'P' };

#define VERSION 1

/* -- seals -- */

static void seal(uint8_t bytes[static REPLICA_MAP_BLOCK])
{
    struct cursor c = { bytes + REPLICA_MAP_BLOCK - 8 };

    put(&c, XXH3_64bits(bytes, REPLICA_MAP_BLOCK - 8), 8);
}

static bool is_sealed(const uint8_t bytes[static REPLICA_MAP_BLOCK])
{
    const uint8_t *at = bytes + REPLICA_MAP_BLOCK - 8;

    return get(&at, 8) == XXH3_64bits(bytes, REPLICA_MAP_BLOCK - 8);
}

/* -- bits -- */

void replica_entry_done(struct replica_entry *entry)
{
    windows_done(&entry->right);
    windows_done(&entry->safe);
}

void replica_map_done(struct replica_map *map)
{
    for (uint32_t i = 0; i < map->n; i++)
        replica_entry_done(&map->replica[i]);
    *map = (struct replica_map){ 0 };
}

unsigned replica_shift(unsigned least, uint64_t size)
{
    unsigned shift = least;

    while (size > (uint64_t) WINDOWS_MAX << shift)
        shift++;
    return shift;
}

int replica_coarsen(struct windows *set, unsigned by)
{
    uint64_t end = by >= 17 ? 0 : windows_end(set) >> by;
    struct windows coarse = { 0 };

    for (uint64_t window = 0; window < end; window++)
        if (windows_has_all(set, window << by, (window + 1) << by) && !windows_add(&coarse, window, window + 1)) {
            windows_done(&coarse);
            return -ENOMEM;
        }
    windows_done(set);
    *set = coarse;
    return 0;
}

void replica_map_void(struct replica_map *map)
{
    for (uint32_t i = 0; i < map->n; i++)
        replica_entry_done(&map->replica[i]);
}

static const struct replica_entry *find_number(const struct replica_map *map, uint32_t number)
{
    for (uint32_t i = 0; i < map->n; i++)
        if (map->replica[i].number == number)
            return &map->replica[i];
    return NULL;
}

void replica_map_doubt(struct replica_map *map)
{
    for (uint32_t i = 0; i < map->n; i++)
        windows_done(&map->replica[i].right);
}

int replica_map_join(struct replica_map *map, const struct replica_map *other, uint64_t gen)
{
    const bool counts = replica_map_is_of(other, gen) && other->shift == map->shift;

    for (uint32_t i = 0; i < map->n; i++) {
        const struct replica_entry *entry = counts ? find_number(other, map->replica[i].number) : NULL;

        if (entry == NULL) {
            windows_done(&map->replica[i].right);
            continue;
        }
        windows_and(&map->replica[i].right, &entry->right);
        if (!windows_or(&map->replica[i].safe, &entry->safe))
            return -ENOMEM;
    }
    return 0;
}

/* -- on disk -- */

/* How many blocks each replica has. */
static uint32_t n_blocks(const struct replica_map *map)
{
    uint64_t end = 0;

    for (uint32_t i = 0; i < map->n; i++)
        end = MAX(end, MAX(windows_end(&map->replica[i].right), windows_end(&map->replica[i].safe)));
    return (uint32_t) ((end + REPLICA_BLOCK_BITS - 1) / REPLICA_BLOCK_BITS);
}

size_t replica_map_len(const struct replica_map *map)
{
    return (1 + (size_t) n_blocks(map) * map->n) * REPLICA_MAP_BLOCK;
}

uint64_t replica_block_off(const struct replica_map *map, uint32_t replica, uint32_t block)
{
    return (1 + (uint64_t) block * map->n + replica) * REPLICA_MAP_BLOCK;
}

uint32_t replica_block_of(uint64_t window)
{
    return (uint32_t) (window / REPLICA_BLOCK_BITS);
}

static void put_windows(struct cursor *c, const struct windows *set, uint32_t block)
{
    for (size_t i = (size_t) block * REPLICA_BLOCK_WORDS; i < ((size_t) block + 1) * REPLICA_BLOCK_WORDS; i++)
        put(c, i < set->n_words ? set->word[i] : 0, 8);
}

void replica_map_encode_block(const struct replica_map *map, uint32_t replica, uint32_t block,
                              uint8_t bytes[static REPLICA_MAP_BLOCK])
{
    const struct replica_entry *entry = &map->replica[replica];
    struct cursor c = { bytes };

    memset(bytes, 0, REPLICA_MAP_BLOCK);
    put(&c, map->series, 8);
    put(&c, entry->number, 4);
    put(&c, block, 4);
    put_windows(&c, &entry->right, block);
    put_windows(&c, &entry->safe, block);
    seal(bytes);
}

static void encode_head(const struct replica_map *map, uint8_t *bytes)
{
    struct cursor c = { bytes };

    memset(bytes, 0, REPLICA_MAP_BLOCK);
    put_bytes(&c, magic, sizeof magic);
    put(&c, VERSION, 2);
    put(&c, map->n, 2);
    put(&c, map->shift, 4);
    put_bytes(&c, map->id, ID_SIZE);
    put(&c, map->gen, 8);
    put(&c, map->also_gen, 8);
    put(&c, map->series, 8);
    put(&c, map->next, 4);
    for (uint32_t i = 0; i < map->n; i++) {
        const struct replica_entry *entry = &map->replica[i];

        put(&c, entry->number, 4);
        put(&c, entry->flags, 2);
        put(&c, entry->rotate, 2);
        put_bytes(&c, entry->layout, HASH_SIZE);
        put(&c, entry->lo, 8);
        put(&c, entry->hi, 8);
    }
    seal(bytes);
}

void replica_map_encode(const struct replica_map *map, uint8_t *bytes)
{
    encode_head(map, bytes);
    for (uint32_t block = 0; block < n_blocks(map); block++)
        for (uint32_t i = 0; i < map->n; i++)
            replica_map_encode_block(map, i, block, bytes + replica_block_off(map, i, block));
}

/* Adds the windows that a word of a block has. */
static int add_word(struct windows *set, uint64_t first, uint64_t word)
{
    for (uint64_t i = 0; i < 64 && word >> i != 0; i++)
        if ((word >> i & 1) != 0 && (first + i >= WINDOWS_MAX || !windows_add(set, first + i, first + i + 1)))
            return first + i >= WINDOWS_MAX ? -EUCLEAN : -ENOMEM;
    return 0;
}

static int get_windows(const uint8_t **at, struct windows *set, uint32_t block)
{
    int r = 0;

    for (uint64_t i = 0; i < REPLICA_BLOCK_WORDS; i++) {
        uint64_t word = get(at, 8);

        if (r == 0)
            r = add_word(set, (block * (uint64_t) REPLICA_BLOCK_WORDS + i) * 64, word);
    }
    return r;
}

static int decode_block(const struct replica_map *map, struct replica_entry *entry, uint32_t block,
                        const uint8_t bytes[static REPLICA_MAP_BLOCK])
{
    const uint8_t *at = bytes;
    int r;

    if (!is_sealed(bytes) || get(&at, 8) != map->series || get(&at, 4) != entry->number || get(&at, 4) != block)
        return 0;
    r = get_windows(&at, &entry->right, block);
    return r < 0 ? r : get_windows(&at, &entry->safe, block);
}

static bool makes_sense(const struct replica_map *map)
{
    bool does = map->n <= REPLICAS_MAX && map->shift >= REPLICA_MIN_SHIFT && map->shift < 64;

    for (uint32_t i = 0; does && i < map->n; i++) {
        does = map->replica[i].number < map->next && map->replica[i].lo < map->replica[i].hi &&
               (map->replica[i].flags & ~(REPLICA_UPDATE | REPLICA_COPY | REPLICA_ENDED)) == 0;
        for (uint32_t k = 0; does && k < i; k++)
            does = map->replica[k].number != map->replica[i].number;
    }
    return does;
}

static void decode_entry(const uint8_t **at, struct replica_entry *entry)
{
    entry->number = (uint32_t) get(at, 4);
    entry->flags = (uint16_t) get(at, 2);
    entry->rotate = (uint16_t) get(at, 2);
    get_bytes(at, entry->layout, HASH_SIZE);
    entry->lo = get(at, 8);
    entry->hi = get(at, 8);
}

static int decode_head(const uint8_t *bytes, struct replica_map *map)
{
    const uint8_t *at = bytes + sizeof magic;
    uint64_t version = get(&at, 2);

    if (version != VERSION)
        return version > VERSION ? -EPROTONOSUPPORT : -EUCLEAN;
    map->n = (uint32_t) get(&at, 2);
    map->shift = (unsigned) get(&at, 4);
    get_bytes(&at, map->id, ID_SIZE);
    map->gen = get(&at, 8);
    map->also_gen = get(&at, 8);
    map->series = get(&at, 8);
    map->next = (uint32_t) get(&at, 4);
    for (uint32_t i = 0; i < MIN(map->n, REPLICAS_MAX); i++)
        decode_entry(&at, &map->replica[i]);
    return makes_sense(map) ? 0 : -EUCLEAN;
}

int replica_map_decode(const uint8_t *bytes, size_t len, struct replica_map *ret_map)
{
    struct replica_map map = { 0 };
    int r;

    if (len < REPLICA_MAP_BLOCK || memcmp(bytes, magic, sizeof magic) != 0 || !is_sealed(bytes))
        return -EUCLEAN;
    r = decode_head(bytes, &map);
    if (r < 0)
        return r;
    for (uint32_t block = 0; block < REPLICA_BLOCKS; block++)
        for (uint32_t i = 0; r == 0 && i < map.n; i++)
            if (replica_block_off(&map, i, block) + REPLICA_MAP_BLOCK <= len)
                r = decode_block(&map, &map.replica[i], block, bytes + replica_block_off(&map, i, block));
    if (r < 0)
        replica_map_done(&map);
    else
        *ret_map = map;
    return r;
}
