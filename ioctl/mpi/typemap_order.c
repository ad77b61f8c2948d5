/* SPDX-License-Identifier: MIT */
/* Where a typemap's stream is in respect to an offset, and whether it only goes forward. */
#include "ioctl/mpi/typemap.h"

/* -- of one that ascends -- */

static uint64_t below_node(const struct typemap_node *node, int64_t off);

static uint64_t below_loop(const struct typemap_node *node, int64_t off)
{
    uint64_t i = (uint64_t) (off - node->inner->lo) / (uint64_t) node->stride;

    i = MIN(i, node->n - 1);
    return i * node->inner->size + below_node(node->inner, off - (int64_t) i * node->stride);
}

static uint64_t below_list(const struct typemap_node *node, int64_t off)
{
    uint64_t lo = 0, hi = node->n; /* items below lo begin before off, from hi on they do not */

    while (lo < hi) {
        uint64_t mid = (lo + hi) / 2;

        if (node->inner[mid].off + node->inner[mid].lo < off)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo == 0 ? 0 : node->before[lo - 1] + below_node(&node->inner[lo - 1], off);
}

static uint64_t below_runs(const struct typemap_node *node, int64_t off)
{
    uint64_t lo = 0, hi = (node->n - 1) / TYPEMAP_STEP + 1, bytes;

    while (hi - lo > 1) {
        uint64_t mid = (lo + hi) / 2;

        if (node->run[mid * TYPEMAP_STEP].off < off)
            lo = mid;
        else
            hi = mid;
    }
    bytes = node->before[lo];
    for (uint64_t i = lo * TYPEMAP_STEP; i < node->n && node->run[i].off < off; i++)
        bytes += MIN(node->run[i].len, (uint64_t) (off - node->run[i].off));
    return bytes;
}

static uint64_t below_node(const struct typemap_node *node, int64_t off)
{
    off -= node->off;
    if (off <= node->lo || node->size == 0)
        return 0;
    if (off >= node->hi)
        return node->size;
    switch (node->kind) {
    case TYPEMAP_RUN:
        return (uint64_t) off;
    case TYPEMAP_LOOP:
        return below_loop(node, off);
    case TYPEMAP_LIST:
        return below_list(node, off);
    case TYPEMAP_RUNS:
        return below_runs(node, off);
    }
    return 0;
}

/* -- of any: the first byte of its stream that does not lie before off -- */

static uint64_t first_node(const struct typemap_node *node, int64_t off);

static uint64_t first_loop(const struct typemap_node *node, int64_t off)
{
    const int64_t behind = off - node->inner->hi;
    uint64_t i = 0;

    if (behind >= 0 && node->stride <= 0)
        return node->size;
    if (behind >= 0)
        i = (uint64_t) (behind / node->stride) + 1;
    return i >= node->n ? node->size
                        : i * node->inner->size + first_node(node->inner, off - (int64_t) i * node->stride);
}

static uint64_t first_list(const struct typemap_node *node, int64_t off)
{
    for (uint64_t i = 0; i < node->n; i++)
        if (node->inner[i].off + node->inner[i].hi > off)
            return node->before[i] + first_node(&node->inner[i], off);
    return node->size;
}

static uint64_t first_runs(const struct typemap_node *node, int64_t off)
{
    uint64_t before = 0;

    for (uint64_t i = 0; i < node->n; before += node->run[i++].len)
        if (node->run[i].off + (int64_t) node->run[i].len > off)
            return before + (uint64_t) MAX(off - node->run[i].off, 0);
    return node->size;
}

static uint64_t first_node(const struct typemap_node *node, int64_t off)
{
    off -= node->off;
    switch (node->kind) {
    case TYPEMAP_RUN:
        return MIN((uint64_t) MAX(off, 0), node->size);
    case TYPEMAP_LOOP:
        return first_loop(node, off);
    case TYPEMAP_LIST:
        return first_list(node, off);
    case TYPEMAP_RUNS:
        return first_runs(node, off);
    }
    return 0;
}

uint64_t typemap_below(const struct typemap *typemap, int64_t off)
{
    return typemap->stream.ascends ? below_node(&typemap->stream, off) : first_node(&typemap->stream, off);
}

bool typemap_ascends(const struct typemap *typemap, uint64_t end)
{
    return typemap->stream.ascends || (typemap->one.ascends && end <= typemap->one.size);
}

/* -- runs in order -- */

struct order {
    int64_t last;
    bool sorted;
};

static void tell_order(void *arg, int64_t off, uint64_t len, int64_t stride, uint64_t n)
{
    struct order *order = arg;

    (void) len;
    order->sorted &= off >= order->last && (n == 1 || stride >= 0);
    order->last = off + (int64_t) (n - 1) * stride;
}

bool typemap_is_sorted(const struct typemap *typemap)
{
    struct order order = { .last = INT64_MIN, .sorted = true };

    typemap_walk(typemap, 0, typemap->one.size, tell_order, &order);
    return order.sorted;
}
