/* SPDX-License-Identifier: MIT */
/* Regular patterns, by name: ranks whose bytes lie alike, one set only further on than the other.
 *
 *     rank 0   ##......##......##......      blocks of columns: 3 pieces of 2 bytes, 8 bytes apart;
 *     rank 1   ..##......##......##....      4 ranks, each 2 bytes further on
 *     rank 2   ....##......##......##..
 *     rank 3   ......##......##......##
 */
#ifndef FALLSFS_FS_LEARN_SHAPE_H
#define FALLSFS_FS_LEARN_SHAPE_H

#include "fs/learn/extents.h"
#include "layout/section.h"

enum shape_kind {
    SHAPE_SAME,    /* all of them the same piece */
    SHAPE_PIECE,   /* one piece each */
    SHAPE_COLUMNS, /* equal pieces at equal distances, the ranks side by side */
    SHAPE_STRIDED, /* equal pieces at equal distances */
    SHAPE_BLOCKS,  /* that again at equal distances: blocks of an array of more dimensions */
    SHAPE_IRREGULAR,
};

struct shape_group {
    enum shape_kind kind;
    uint32_t first_rank, n_ranks; /* they follow each other */
    uint64_t bytes, pieces;       /* of each rank; of irregular ones, of all together */
    uint64_t piece;               /* bytes of one; 0: they differ */
    uint64_t apart;               /* from piece to piece; 0: there is one */
    uint64_t shift;               /* from one rank to the next; 0: it is not always the same, or there is one */
    bool is_same;                 /* all ranks have the same bytes */
    struct nest *nest;            /* of first_rank; NULL: irregular */
};

struct shapes {
    struct shape_group *group;
    size_t n;
};

/* -ENOMEM. */
int shapes_init(struct shapes *shapes, const struct extents *extents);
void shapes_done(struct shapes *shapes);

/* Finds the section of an array that a set is. False: it is none. */
bool shape_section(const struct array *array, const struct nest *nest, struct range ret_section[static ARRAY_MAX_DIMS]);

#endif
