/* SPDX-License-Identifier: MIT */
#include "fs/core/volume/record.h"

#include "fs/core/volume/bytes.h"

#include <string.h>
#include <xxhash.h>

static const char magic[8] = { 'F', 'A', 'L', 'L', 'S', 'R', 'E', 'C' };

/* Bytes in front of the checksum. */
#define BODY (RECORD_SIZE - 8)

static void put_bits(struct cursor *c, const struct record_bits *bits)
{
    for (size_t i = 0; i < ARRAY_SIZE(bits->word); i++)
        put(c, bits->word[i], 8);
}

static void get_bits(const uint8_t **at, struct record_bits *ret_bits)
{
    for (size_t i = 0; i < ARRAY_SIZE(ret_bits->word); i++)
        ret_bits->word[i] = get(at, 8);
}

#define GEN_LIMIT (UINT64_C(1) << 63) /* names of replicas' objects have numbers from there on (file_layouts.h) */

#define IS_PADDED 1U
#define HAS_MAP   2U

void record_encode(const struct record *record, uint8_t bytes[static RECORD_SIZE])
{
    struct cursor c = { bytes };

    memset(bytes, 0, RECORD_SIZE);
    put_bytes(&c, magic, sizeof magic);
    put(&c, RECORD_VERSION, 2);
    put(&c, record->state, 1);
    put(&c, (record->padded != 0 ? IS_PADDED : 0U) | (record->has_map != 0 ? HAS_MAP : 0U), 1);
    put(&c, record->rotate, 2);
    put(&c, record->hidden_mode, 2);
    put_bytes(&c, record->id, ID_SIZE);
    put(&c, record->gen, 8);
    put(&c, record->oldest_gen, 8);
    put_bytes(&c, record->layout, HASH_SIZE);
    put_bytes(&c, record->old_layout, HASH_SIZE);
    put_bytes(&c, record->target_layout, HASH_SIZE);
    put(&c, record->size, 8);
    put(&c, record->durable_size, 8);
    put(&c, record->blocks, 8);
    put(&c, record->epoch, 8);
    put(&c, record->born, 8);
    put_bits(&c, &record->bits);
    put_bits(&c, &record->durable);
    put_bits(&c, &record->dirty);
    put(&c, record->old_rotate ^ record->rotate, 2); /* 0 where both are the same, as in most records */
    put(&c, record->target_rotate, 2);
    put(&c, record->target_flags, 2);
    put(&c, record->migrated, 8);
    put(&c, record->target_limit, 2);
    c.at = bytes + BODY;
    put(&c, XXH3_64bits(bytes, BODY), 8);
}

bool record_migrates(const struct record *record)
{
    static const uint8_t none[HASH_SIZE];

    return memcmp(record->target_layout, none, HASH_SIZE) != 0;
}

/* A packed limit has the highest bits of the limit, LIMIT_BITS of them, and above them how far they were shifted. */
#define LIMIT_BITS  11
#define LIMIT_SHIFT 31

uint16_t record_pack_limit(uint64_t limit)
{
    unsigned shift = 0;

    while (shift < LIMIT_SHIFT && limit >> shift >> LIMIT_BITS != 0)
        shift++;
    return (uint16_t) (shift << LIMIT_BITS | MIN(limit >> shift, (1U << LIMIT_BITS) - 1));
}

uint64_t record_unpack_limit(uint16_t packed)
{
    return (uint64_t) (packed & ((1U << LIMIT_BITS) - 1)) << (packed >> LIMIT_BITS);
}

void record_end_migration(struct record *record)
{
    memset(record->target_layout, 0, HASH_SIZE);
    record->target_rotate = 0;
    record->target_flags = 0;
    record->target_limit = 0;
    record->migrated = 0;
    if (record->state == RECORD_MIGR)
        record->state = RECORD_OK;
}

static bool is_migration_sound(const struct record *record)
{
    if (!record_migrates(record))
        return record->state != RECORD_MIGR && record->target_rotate == 0 && record->target_flags == 0 &&
               record->target_limit == 0 && record->migrated == 0;
    return record->state != RECORD_OK && record->target_flags <= (TARGET_PAUSED | TARGET_GIVEN_UP) &&
           record->migrated <= UINT64_C(1) << 62 && record->oldest_gen == record->gen && record->gen < UINT64_MAX - 1;
}

bool record_begins_newer(const uint8_t *bytes, size_t len)
{
    const uint8_t *at = bytes + sizeof magic;

    return len >= sizeof magic + 2 && memcmp(bytes, magic, sizeof magic) == 0 && get(&at, 2) > RECORD_VERSION;
}

/* Whether the checksum at the end is that of all bytes in front of it. */
static bool is_whole(const uint8_t *bytes, size_t len)
{
    const uint8_t *sum = len > 8 ? bytes + len - 8 : NULL;

    return sum != NULL && get(&sum, 8) == XXH3_64bits(bytes, len - 8);
}

int record_decode(const uint8_t *bytes, size_t len, struct record *ret_record)
{
    const uint8_t *at = bytes + sizeof magic;
    uint8_t again[RECORD_SIZE];
    struct record record = { 0 };
    uint64_t flags;

    if (!is_whole(bytes, len))
        return -EUCLEAN;
    if (record_begins_newer(bytes, len))
        return -EPROTONOSUPPORT;
    if (len != RECORD_SIZE || memcmp(bytes, magic, sizeof magic) != 0 || get(&at, 2) != RECORD_VERSION)
        return -EUCLEAN;
    record.state = (uint16_t) get(&at, 1);
    flags = get(&at, 1);
    record.padded = (flags & IS_PADDED) != 0;
    record.has_map = (flags & HAS_MAP) != 0;
    record.rotate = (uint16_t) get(&at, 2);
    record.hidden_mode = (uint16_t) get(&at, 2);
    get_bytes(&at, record.id, ID_SIZE);
    record.gen = get(&at, 8);
    record.oldest_gen = get(&at, 8);
    get_bytes(&at, record.layout, HASH_SIZE);
    get_bytes(&at, record.old_layout, HASH_SIZE);
    get_bytes(&at, record.target_layout, HASH_SIZE);
    record.size = get(&at, 8);
    record.durable_size = get(&at, 8);
    record.blocks = get(&at, 8);
    record.epoch = get(&at, 8);
    record.born = get(&at, 8);
    get_bits(&at, &record.bits);
    get_bits(&at, &record.durable);
    get_bits(&at, &record.dirty);
    record.old_rotate = (uint16_t) get(&at, 2) ^ record.rotate;
    record.target_rotate = (uint16_t) get(&at, 2);
    record.target_flags = (uint32_t) get(&at, 2);
    record.migrated = get(&at, 8);
    record.target_limit = get(&at, 2);
    /* A checksum can be forged: so what others will believe must be in range. */
    if (record.state > RECORD_DAMAGED || record.oldest_gen > record.gen || record.gen >= GEN_LIMIT ||
        record.size > UINT64_C(1) << 62 || record.durable_size > record.size || (record.hidden_mode & ~0600) != 0 ||
        !is_migration_sound(&record))
        return -EUCLEAN;
    record_encode(&record, again);
    if (memcmp(again, bytes, RECORD_SIZE) != 0)
        return -EUCLEAN;
    *ret_record = record;
    return 0;
}

bool record_guess_id(const uint8_t bytes[static RECORD_SIZE], uint8_t ret_id[static ID_SIZE])
{
    static const uint8_t none[ID_SIZE];
    const uint8_t *id = bytes + sizeof magic + 4 * sizeof(uint16_t);

    if (memcmp(bytes, magic, sizeof magic) != 0 || memcmp(id, none, ID_SIZE) == 0)
        return false;
    memcpy(ret_id, id, ID_SIZE);
    return true;
}

void hex_print(const uint8_t *bytes, size_t n, char *ret_text)
{
    static const char digit[] = "0123456789abcdef";

    for (size_t i = 0; i < n; i++) {
        ret_text[2 * i] = digit[bytes[i] >> 4];
        ret_text[2 * i + 1] = digit[bytes[i] & 15];
    }
    ret_text[2 * n] = 0;
}

static int digit_value(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int hex_parse(const char *text, size_t n, uint8_t *ret_bytes)
{
    for (size_t i = 0; i < n; i++) {
        int high = digit_value(text[2 * i]), low = high < 0 ? -1 : digit_value(text[2 * i + 1]);

        if (low < 0)
            return -EINVAL;
        ret_bytes[i] = (uint8_t) (high << 4 | low);
    }
    return 0;
}

unsigned record_layouts(const struct record *record, const uint8_t *ret_hash[static RECORD_LAYOUTS])
{
    const uint8_t *const all[RECORD_LAYOUTS] = { record->layout, record->old_layout, record->target_layout };
    static const uint8_t none[HASH_SIZE];
    unsigned n = 0;

    for (unsigned i = 0; i < RECORD_LAYOUTS; i++) {
        bool known = memcmp(all[i], none, HASH_SIZE) == 0;

        for (unsigned k = 0; !known && k < n; k++)
            known = memcmp(all[i], ret_hash[k], HASH_SIZE) == 0;
        if (!known)
            ret_hash[n++] = all[i];
    }
    return n;
}
