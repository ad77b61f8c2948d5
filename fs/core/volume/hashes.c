/* SPDX-License-Identifier: MIT */
#include "fs/core/volume/hashes.h"

#include <string.h>

#define FIRST_SLOTS 64

static const uint8_t none[HASH_SIZE];

void hashes_done(struct hashes *hashes)
{
    free(hashes->slot);
    *hashes = (struct hashes){ 0 };
}

static bool is_free(const uint8_t hash[HASH_SIZE])
{
    return memcmp(hash, none, HASH_SIZE) == 0;
}

/* The slot that a hash is in, or would be put into. */
static uint8_t *place_of(const struct hashes *hashes, const uint8_t hash[HASH_SIZE])
{
    uint64_t key;
    size_t i;

    memcpy(&key, hash, sizeof key);
    for (i = key & (hashes->n_slots - 1); !is_free(hashes->slot[i]); i = (i + 1) & (hashes->n_slots - 1))
        if (memcmp(hashes->slot[i], hash, HASH_SIZE) == 0)
            break;
    return hashes->slot[i];
}

bool hashes_has(const struct hashes *hashes, const uint8_t hash[HASH_SIZE])
{
    return hashes->n > 0 && !is_free(place_of(hashes, hash));
}

static int grow(struct hashes *hashes)
{
    struct hashes more = { .n_slots = MAX(2 * hashes->n_slots, FIRST_SLOTS), .n = hashes->n };

    more.slot = calloc(more.n_slots, HASH_SIZE);
    if (more.slot == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < hashes->n_slots; i++)
        if (!is_free(hashes->slot[i]))
            memcpy(place_of(&more, hashes->slot[i]), hashes->slot[i], HASH_SIZE);
    free(hashes->slot);
    *hashes = more;
    return 0;
}

int hashes_add(struct hashes *hashes, const uint8_t hash[HASH_SIZE])
{
    uint8_t *place;

    if (is_free(hash) || hashes_has(hashes, hash))
        return 0;
    if (2 * (hashes->n + 1) > hashes->n_slots && grow(hashes) < 0)
        return -ENOMEM;
    place = place_of(hashes, hash);
    memcpy(place, hash, HASH_SIZE);
    hashes->n++;
    return 0;
}

int hashes_add_record(struct hashes *hashes, const struct record *record)
{
    const uint8_t *hash[RECORD_LAYOUTS];
    unsigned n = record_layouts(record, hash);
    int r = 0;

    for (unsigned i = 0; r == 0 && i < n; i++)
        r = hashes_add(hashes, hash[i]);
    return r;
}

const uint8_t *hashes_next(const struct hashes *hashes, size_t *at)
{
    while (*at < hashes->n_slots) {
        const uint8_t *hash = hashes->slot[(*at)++];

        if (!is_free(hash))
            return hash;
    }
    return NULL;
}
