/* SPDX-License-Identifier: MIT */
#include "ioctl/client/slabs/track.h"

#include "ioctl/client/client.h"
#include "layout/clock.h"

#include <string.h>

#define ALIGN 64 /* of what lies in the memory: any element's, and a line of the cache */

/* -- how much memory -- */

/* Sums and products that stay at UINT64_MAX once they are there. */
static uint64_t plus(uint64_t a, uint64_t b)
{
    uint64_t sum;

    return add_overflows(a, b, &sum) ? UINT64_MAX : sum;
}

static uint64_t times(uint64_t a, uint64_t b)
{
    uint64_t product;

    return mul_overflows(a, b, &product) ? UINT64_MAX : product;
}

static uint64_t aligned(uint64_t len)
{
    uint64_t end = plus(len, ALIGN - 1);

    return end == UINT64_MAX ? end : end / ALIGN * ALIGN;
}

/* As many elements of a dimension as any tile sees. */
static uint64_t most_seen(const struct walk *walk, const struct halo *halo, const struct box *all, uint32_t d)
{
    return MIN(walk->tile[d] + halo->lower[d] + halo->upper[d], all->size[d]);
}

/* The store of a dimension, 0 if there is none. */
static uint64_t store_len(const struct track *track, const struct walk *walk, const struct box *all, uint32_t d)
{
    uint64_t len = track->array.elem;
    bool is_within = false;

    if (!track->reads || !walk_meets(walk, &track->halo, d))
        return 0;
    for (uint32_t i = 0; i < walk->ndims; i++) {
        uint32_t other = walk->nesting[i];

        if (other == d)
            len = times(len, track->halo.lower[d] + track->halo.upper[d]);
        else
            len = times(len, is_within ? all->size[other] : most_seen(walk, &track->halo, all, other));
        is_within |= other == d;
    }
    return aligned(len);
}

uint64_t track_measure(struct track *track, const struct walk *walk, uint32_t n_ahead)
{
    uint32_t slowest = array_dim(&track->array, track->array.ndims - 1);
    uint64_t len = track->array.elem, total = 0;
    struct box all;

    walk_all(walk, &track->halo, &all);
    track->is_joined = track->is_packed = false;
    for (uint32_t d = 0; d < walk->ndims; d++) {
        len = times(len, most_seen(walk, &track->halo, &all, d));
        if (d != slowest) {
            track->is_joined |= track->reads && walk_meets(walk, &track->halo, d);
            track->is_packed |= track->writes && all.size[d] != walk->part.size[d];
        }
        total = plus(total, store_len(track, walk, &all, d));
    }
    track->is_packed |= track->writes && track->is_joined;
    track->slot_len = aligned(len);
    track->n_slots = (track->reads ? n_ahead + 1 : 1) + (track->writes && !track->is_packed);
    total = plus(total, times(track->slot_len, track->n_slots));
    track->memory_len = plus(total, times(track->slot_len, (uint64_t) track->is_joined + track->is_packed));
    return track->memory_len;
}

/* -- beginning and ending -- */

static uint8_t *part_of(uint8_t **memory, uint64_t len)
{
    uint8_t *part = *memory;

    *memory += len;
    return part;
}

int track_begin(struct track *track, const struct walk *walk, struct fallsfs_slabs_stats *stats)
{
    uint8_t *memory = fallsfs_alloc(track->memory_len);
    struct box all;

    track->stats = stats;
    track->memory = memory;
    track->slot = calloc(track->n_slots, sizeof *track->slot);
    if (memory == NULL || track->slot == NULL)
        return words(-ENOMEM, "there are no %" PRIu64 " bytes of memory for the walk: allow it less",
                     track->memory_len);
    walk_all(walk, &track->halo, &all);
    for (uint32_t i = 0; i < track->n_slots; i++)
        track->slot[i].bytes = part_of(&memory, track->slot_len);
    track->hand = track->is_joined ? part_of(&memory, track->slot_len) : NULL;
    track->packed = track->is_packed ? part_of(&memory, track->slot_len) : NULL;
    for (uint32_t d = 0; d < walk->ndims; d++) {
        uint64_t store = store_len(track, walk, &all, d);

        track->store[d] = store > 0 ? part_of(&memory, store) : NULL;
    }
    track->walk = walk;
    return 0;
}

/* -- asking -- */

static struct slot *slot_of(struct track *track, uint64_t k)
{
    return &track->slot[k % track->n_slots];
}

/* Asks for a box of the array, to or from where it lies densely. */
static int ask_for(struct track *track, const struct box *box, bool write, uint8_t *bytes,
                   struct fallsfs_ticket **ret_ticket)
{
    bool is_empty = box_elements(box, track->array.ndims) == 0;
    struct fallsfs_range section[FALLSFS_MAX_DIMS];

    for (uint32_t d = 0; d < track->array.ndims; d++)
        section[d] = is_empty ? (struct fallsfs_range){ 1, 0, 1 }
                              : (struct fallsfs_range){ box->lower[d], box->lower[d] + box->size[d] - 1, 1 };
    if (is_empty && track->group == NULL)
        return 0;
    if (track->group != NULL)
        return write ? fallsfs_iwrite_all(track->group, &track->what, section, bytes, ret_ticket)
                     : fallsfs_iread_all(track->group, &track->what, section, bytes, ret_ticket);
    return write ? fallsfs_iwrite_section(track->fd, &track->what, section, bytes, ret_ticket)
                 : fallsfs_iread_section(track->fd, &track->what, section, bytes, ret_ticket);
}

static uint64_t bytes_of(const struct track *track, const struct box *box)
{
    return box_elements(box, track->array.ndims) * track->array.elem;
}

int track_ask(struct track *track, uint64_t k)
{
    struct slot *slot = slot_of(track, k);
    struct tile tile;

    if (!track->reads)
        return 0;
    walk_tile(track->walk, &track->halo, k, &tile);
    track->stats->bytes_read += bytes_of(track, &tile.fresh);
    return ask_for(track, &tile.fresh, false,
                   slot->bytes + (track->is_joined ? 0 : box_offset(&track->array, &tile.all, &tile.fresh)),
                   &slot->reading);
}

/* Waits for what is under way, if anything is; ret_ready: it was over. */
static int until_over(struct fallsfs_ticket **ticket, uint64_t *waited_ns, bool *ret_ready)
{
    struct fallsfs_ticket *waits = *ticket;
    uint64_t began;
    int r;

    *ret_ready = true;
    if (waits == NULL)
        return 0;
    r = fallsfs_test(waits, ret_ready);
    if (!*ret_ready) {
        began = clock_ns();
        r = fallsfs_wait(waits);
        *waited_ns += clock_ns() - began;
    }
    *ticket = NULL;
    return r;
}

/* -- taking and giving -- */

static uint8_t *in_hand(struct track *track, uint64_t k)
{
    return track->hand != NULL ? track->hand : slot_of(track, k)->bytes;
}

/* Puts the tile together of what was read and what is kept. */
static void join(struct track *track, const struct tile *tile, const struct slot *slot, uint8_t *bytes)
{
    struct box store, part;

    if (track->is_joined)
        box_copy(&track->array, &tile->fresh, &tile->fresh, slot->bytes, &tile->all, bytes);
    for (uint32_t d = 0; d < track->walk->ndims; d++)
        if (track->store[d] != NULL) {
            walk_takes(track->walk, &track->halo, tile, d, &store, &part);
            box_copy(&track->array, &part, &store, track->store[d], &tile->all, bytes);
            track->stats->bytes_kept += bytes_of(track, &part);
        }
}

/* Keeps what later tiles see of it, before anybody changes it. */
static void keep(struct track *track, const struct tile *tile, const uint8_t *bytes)
{
    struct box store, part;

    for (uint32_t d = 0; d < track->walk->ndims; d++)
        if (track->store[d] != NULL) {
            walk_keeps(track->walk, &track->halo, tile, d, &store, &part);
            box_copy(&track->array, &part, &tile->all, bytes, &store, track->store[d]);
        }
}

int track_take(struct track *track, uint64_t k, struct fallsfs_slab *ret_slab, bool *ret_ready)
{
    struct slot *slot = slot_of(track, k);
    uint8_t *bytes = in_hand(track, k);
    struct tile tile;
    int r = until_over(&slot->reading, &track->stats->waited_read_ns, ret_ready);

    if (r < 0)
        return r;
    walk_tile(track->walk, &track->halo, k, &tile);
    if (track->reads && k < track->walk->n_tiles) {
        join(track, &tile, slot, bytes);
        keep(track, &tile, bytes);
    }
    *ret_slab = (struct fallsfs_slab){ .bytes = bytes };
    memcpy(ret_slab->first, tile.all.lower, sizeof ret_slab->first);
    memcpy(ret_slab->n, tile.all.size, sizeof ret_slab->n);
    memcpy(ret_slab->lower, tile.own.lower, sizeof ret_slab->lower);
    memcpy(ret_slab->size, tile.own.size, sizeof ret_slab->size);
    return 0;
}

int track_give(struct track *track, uint64_t k)
{
    uint8_t *bytes = in_hand(track, k);
    struct tile tile;

    if (!track->writes)
        return 0;
    walk_tile(track->walk, &track->halo, k, &tile);
    if (track->packed != NULL)
        box_copy(&track->array, &tile.own, &tile.all, bytes, &tile.own, track->packed);
    track->stats->bytes_written += bytes_of(track, &tile.own);
    return ask_for(track, &tile.own, true,
                   track->packed != NULL ? track->packed : bytes + box_offset(&track->array, &tile.all, &tile.own),
                   &slot_of(track, k)->writing);
}

int track_flush(struct track *track)
{
    bool ready;
    int r = 0;

    for (uint32_t i = 0; i < track->n_slots && track->slot != NULL; i++) {
        int ended = until_over(&track->slot[i].writing, &track->stats->waited_written_ns, &ready);

        r = r == 0 ? ended : r;
    }
    return r;
}

void track_done(struct track *track)
{
    bool ready;

    (void) track_flush(track);
    for (uint32_t i = 0; i < track->n_slots && track->slot != NULL; i++)
        (void) until_over(&track->slot[i].reading, &track->stats->waited_read_ns, &ready);
    free(track->slot);
    fallsfs_free(track->memory);
}
