/* SPDX-License-Identifier: MIT */
#include "ioctl/client/slabs/walk.h"

void walk_init(struct walk *walk, const struct array *array, const struct box *part, const uint64_t tile[])
{
    *walk = (struct walk){ .ndims = array->ndims, .part = *part, .n_tiles = 1 };
    for (uint32_t i = 0; i < array->ndims; i++) {
        walk->nesting[i] = array_dim(array, array->ndims - 1 - i);
        walk->size[i] = array->size[i];
        walk->tile[i] = tile[i];
        walk->n[i] = part->size[i] / tile[i] + (part->size[i] % tile[i] != 0);
        walk->n_tiles *= walk->n[i];
    }
}

/* The ends of what is seen in dimension d around [lower, end). */
static uint64_t seen_from(const struct halo *halo, uint32_t d, uint64_t lower)
{
    return lower - MIN(lower, halo->lower[d]);
}

static uint64_t seen_to(const struct walk *walk, const struct halo *halo, uint32_t d, uint64_t end)
{
    return end + MIN(walk->size[d] - end, halo->upper[d]);
}

static void set_dim(struct box *box, uint32_t d, uint64_t from, uint64_t to)
{
    box->lower[d] = from;
    box->size[d] = to - from;
}

void walk_tile(const struct walk *walk, const struct halo *halo, uint64_t k, struct tile *ret_tile)
{
    *ret_tile = (struct tile){ .at = { 0 } };
    if (k >= walk->n_tiles)
        return;
    for (uint32_t i = walk->ndims; i-- > 0;) {
        uint32_t d = walk->nesting[i];
        uint64_t at = k % walk->n[d], lower = walk->part.lower[d] + at * walk->tile[d];
        uint64_t end = lower + MIN(walk->tile[d], walk->part.size[d] - at * walk->tile[d]);
        uint64_t from = seen_from(halo, d, lower), to = seen_to(walk, halo, d, end);

        k /= walk->n[d];
        ret_tile->at[d] = at;
        set_dim(&ret_tile->own, d, lower, end);
        set_dim(&ret_tile->all, d, from, to);
        set_dim(&ret_tile->fresh, d, at == 0 ? from : seen_to(walk, halo, d, lower), to);
    }
}

void walk_all(const struct walk *walk, const struct halo *halo, struct box *ret_all)
{
    *ret_all = (struct box){ .lower = { 0 } };
    if (walk->n_tiles == 0)
        return;
    for (uint32_t d = 0; d < walk->ndims; d++)
        set_dim(ret_all, d, seen_from(halo, d, walk->part.lower[d]),
                seen_to(walk, halo, d, walk->part.lower[d] + walk->part.size[d]));
}

bool walk_meets(const struct walk *walk, const struct halo *halo, uint32_t d)
{
    return walk->n[d] > 1 && halo->lower[d] + halo->upper[d] > 0;
}

/* The store of dimension d, whose place in it is [from, from + both halos), and the part of it that has what [from, to)
 * is of the tile's. */
static void store_boxes(const struct walk *walk, const struct halo *halo, const struct tile *tile, uint32_t d,
                        uint64_t from, uint64_t to, struct box *ret_store, struct box *ret_part)
{
    struct box all;
    bool is_within = false;

    walk_all(walk, halo, &all);
    *ret_store = *ret_part = tile->all;
    for (uint32_t i = 0; i < walk->ndims; i++) {
        uint32_t other = walk->nesting[i];

        if (is_within)
            set_dim(ret_store, other, all.lower[other], all.lower[other] + all.size[other]);
        is_within |= other == d;
    }
    set_dim(ret_store, d, from, from + halo->lower[d] + halo->upper[d]);
    set_dim(ret_part, d, from, to);
}

void walk_keeps(const struct walk *walk, const struct halo *halo, const struct tile *tile, uint32_t d,
                struct box *ret_store, struct box *ret_kept)
{
    uint64_t end = tile->own.lower[d] + tile->own.size[d], from = seen_from(halo, d, end);
    uint64_t to = tile->at[d] + 1 < walk->n[d] ? seen_to(walk, halo, d, end) : from;

    store_boxes(walk, halo, tile, d, from, to, ret_store, ret_kept);
}

void walk_takes(const struct walk *walk, const struct halo *halo, const struct tile *tile, uint32_t d,
                struct box *ret_store, struct box *ret_taken)
{
    uint64_t to = tile->fresh.lower[d];
    bool is_within = false;

    store_boxes(walk, halo, tile, d, tile->all.lower[d], to, ret_store, ret_taken);
    for (uint32_t i = 0; i < walk->ndims; i++) {
        uint32_t other = walk->nesting[i];

        if (is_within) {
            ret_taken->lower[other] = tile->fresh.lower[other];
            ret_taken->size[other] = tile->fresh.size[other];
        }
        is_within |= other == d;
    }
}
