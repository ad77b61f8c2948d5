/* SPDX-License-Identifier: MIT */
#include "fs/learn/extents.h"

struct piece {
    uint64_t off, end;
    uint32_t rank;
};

static int by_rank(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;

    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->off < y->off ? -1 : x->off > y->off;
}

static struct piece *sort_pieces(const struct touches *touches, enum extents_of of, size_t *ret_n)
{
    struct piece *piece = malloc(MAX(touches->n, 1) * sizeof *piece);
    size_t n = 0;

    for (size_t i = 0; piece != NULL && i < touches->n; i++) {
        const struct touch *touch = &touches->touch[i];

        if ((of & (touch->writes ? EXTENTS_WRITTEN : EXTENTS_READ)) != 0)
            piece[n++] = (struct piece){ touch->off, touch->end, touch->rank };
    }
    if (piece != NULL)
        qsort(piece, n, sizeof *piece, by_rank);
    *ret_n = n;
    return piece;
}

int extents_init(struct extents *extents, const struct touches *touches, enum extents_of of)
{
    size_t n_pieces, n = 0;
    cleanup(freep) struct piece *piece = sort_pieces(touches, of, &n_pieces);
    uint32_t rank = 0;

    *extents = (struct extents){ .segment = malloc(MAX(n_pieces, 1) * sizeof *extents->segment),
                                 .first = calloc((size_t) touches->n_ranks + 1, sizeof *extents->first),
                                 .n_ranks = touches->n_ranks };
    if (piece == NULL || extents->segment == NULL || extents->first == NULL) {
        extents_done(extents);
        return -ENOMEM;
    }
    for (size_t i = 0; i < n_pieces; i++) {
        while (rank < piece[i].rank)
            extents->first[++rank] = n;
        if (n > extents->first[rank] && extents->segment[n - 1].end >= piece[i].off)
            extents->segment[n - 1].end = MAX(extents->segment[n - 1].end, piece[i].end);
        else
            extents->segment[n++] = (struct segment){ piece[i].off, piece[i].end };
    }
    while (rank < touches->n_ranks)
        extents->first[++rank] = n;
    return 0;
}

void extents_done(struct extents *extents)
{
    free(extents->segment);
    free(extents->first);
    *extents = (struct extents){ 0 };
}

uint64_t extents_bytes(const struct extents *extents, uint32_t rank)
{
    uint64_t bytes = 0;

    for (size_t i = extents->first[rank]; i < extents->first[rank + 1]; i++)
        bytes += extents->segment[i].end - extents->segment[i].off;
    return bytes;
}
