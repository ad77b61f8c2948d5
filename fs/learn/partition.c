/* SPDX-License-Identifier: MIT */
#include "fs/learn/partition.h"

struct placed {
    uint32_t partition, first, index;
};

uint32_t partition_of(const struct chunk *chunk, enum partition_reading reading)
{
    if (reading == PARTITION_TEXT)
        return chunk->top;
    return chunk_class(chunk) == CHUNK_SHARED ? PARTITION_SHARED : chunk->top_reader;
}

/* Pieces of one access are touched one after the other, so two chunks of one first touch stand in file order. */
static int by_partition(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;

    if (x->partition != y->partition)
        return x->partition < y->partition ? -1 : 1;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

uint32_t *partition_order(const struct chunks *chunks, enum partition_reading reading)
{
    cleanup(freep) struct placed *placed = chunks->n > 0 ? malloc(chunks->n * sizeof *placed) : NULL;
    uint32_t *order = chunks->n > 0 ? malloc(chunks->n * sizeof *order) : NULL;

    if (placed == NULL || order == NULL) {
        free(order);
        return NULL;
    }
    for (size_t i = 0; i < chunks->n; i++)
        placed[i] = (struct placed){ partition_of(&chunks->chunk[i], reading), chunks->chunk[i].first, (uint32_t) i };
    qsort(placed, chunks->n, sizeof *placed, by_partition);
    for (size_t i = 0; i < chunks->n; i++)
        order[i] = placed[i].index;
    return order;
}
