/* SPDX-License-Identifier: MIT */
/* Any bytes as the map of a file's replicas. What is accepted makes sense, and written again says the same; and the
 * first byte makes the checksums right, as somebody would who can write the disk: of the head alone, or of all blocks.
 *
 *     n as they are     h of the head     b of the head and all blocks */
#include "fs/core/volume/replica_map.h"
#include "test/fuzz/fuzz.h"

#include <string.h>
#include <xxhash.h>

static void forge(uint8_t *bytes, size_t len, size_t n_blocks)
{
    for (size_t block = 0; block < n_blocks && (block + 1) * REPLICA_MAP_BLOCK <= len; block++) {
        uint8_t *at = bytes + block * REPLICA_MAP_BLOCK;
        uint64_t sum = XXH3_64bits(at, REPLICA_MAP_BLOCK - 8);

        for (int i = 0; i < 8; i++)
            at[REPLICA_MAP_BLOCK - 8 + i] = (uint8_t) (sum >> 8 * i);
    }
}

static int decode(const uint8_t *bytes, size_t len, struct replica_map *ret_map)
{
    uint8_t *exact = malloc(len + (len == 0)); /* so that a sanitizer sees a read past the end */
    int r;

    REQUIRE(exact != NULL);
    memcpy(exact, bytes, len);
    r = replica_map_decode(exact, len, ret_map);
    free(exact);
    REQUIRE(r == 0 || r == -EUCLEAN || r == -EPROTONOSUPPORT);
    return r;
}

static bool same_windows(const struct windows *a, const struct windows *b)
{
    for (uint64_t i = 0; i < WINDOWS_MAX; i++)
        if (windows_has(a, i) != windows_has(b, i))
            return false;
    return true;
}

static void check_again(const struct replica_map *map)
{
    size_t len = replica_map_len(map);
    uint8_t *bytes = malloc(len);
    struct replica_map again;

    REQUIRE(bytes != NULL && len <= REPLICA_MAP_MAX);
    replica_map_encode(map, bytes);
    REQUIRE(decode(bytes, len, &again) == 0);
    REQUIRE(again.n == map->n && again.shift == map->shift && again.next == map->next && again.gen == map->gen &&
            again.also_gen == map->also_gen && again.series == map->series && memcmp(again.id, map->id, ID_SIZE) == 0);
    for (uint32_t i = 0; i < map->n; i++) {
        REQUIRE(again.replica[i].number == map->replica[i].number && again.replica[i].flags == map->replica[i].flags);
        REQUIRE(same_windows(&again.replica[i].right, &map->replica[i].right));
        REQUIRE(same_windows(&again.replica[i].safe, &map->replica[i].safe));
    }
    replica_map_done(&again);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct replica_map map;
    uint8_t *bytes;

    if (size < 2)
        return 0;
    bytes = malloc(size - 1);
    REQUIRE(bytes != NULL);
    memcpy(bytes, data + 1, size - 1);
    forge(bytes, size - 1, data[0] == 'h' ? 1 : data[0] == 'b' ? SIZE_MAX : 0);
    if (decode(bytes, size - 1, &map) == 0) {
        REQUIRE(map.n <= REPLICAS_MAX && map.shift >= REPLICA_MIN_SHIFT);
        for (uint32_t i = 0; i < map.n; i++)
            REQUIRE(map.replica[i].number < map.next && map.replica[i].lo < map.replica[i].hi);
        check_again(&map);
        replica_map_done(&map);
    }
    free(bytes);
    return 0;
}
