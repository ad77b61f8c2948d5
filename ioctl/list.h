/* SPDX-License-Identifier: MIT */
/* Lists of pieces: sets of bytes that are no progression, as fallsfs_ioctl.h draws them. What FALLS are to a nest,
 * sixteen bytes a piece are to a list:
 *
 *     list     (0,2) (3,1), extent 6     file     0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
 *                                        tiles    # # . # . . # # . #  .  .  #  #  .  #
 *              skip 2, bytes 5           list     . . . # . . # # . #  .  .  #  .  .  .
 *     pieces   off     0 3 | 4           rank     0 0 0 0 1 1 1 2 3 3  4  4  4  5  5  5
 *              before  0 2 | 3
 *
 * A piece has the bytes before that of the next one less its own; behind the last piece stands where it ends. Pieces
 * are shared by all lists that differ in the other numbers alone. */
#ifndef FALLSFS_IOCTL_LIST_H
#define FALLSFS_IOCTL_LIST_H

#include "ioctl/fallsfs_ioctl.h"
#include "layout/base.h"

#include <stdatomic.h>

#define LIST_MAX_PIECES (UINT64_C(1) << 24)

/* Whose memory pieces take, from when they are made until they are gone. */
struct payer {
    int (*charge)(void *ctx, uint32_t uid, uint64_t bytes); /* NULL: nobody's; -EUSERS: there is no more */
    void (*discharge)(void *ctx, uint32_t uid, uint64_t bytes);
    void *ctx;
    uint32_t uid;
};

struct list_piece {
    uint64_t off, before;
};

/* Never changes. */
struct pieces {
    atomic_uint refs;
    struct payer payer;
    uint64_t charged;
    uint64_t n_given; /* pieces that were given: those that touch are one here */
    uint64_t n, size, longest;
    struct list_piece piece[]; /* n and one more */
};

/* Where a program has left pieces: memory that it may change, or take away, at any time. */
struct list_source {
    const uint8_t *at; /* struct fallsfs_ioc_piece, aligned as that */
    uint64_t n;        /* more than 0 */
    int (*ready)(void *memory, const uint8_t *at, uint64_t len, bool missed); /* as struct asked has it */
    void *memory;
};

/* Copies pieces once, and checks the copy. -EINVAL: they do not ascend, overlap, or one is empty; -EOVERFLOW: they
 * reach too far; -E2BIG: too many; -EFAULT: they are not there; -EUSERS, -ENOMEM. */
int pieces_copy(const struct list_source *from, const struct payer *payer, struct pieces **ret_pieces);

struct pieces *pieces_ref(struct pieces *pieces);
void pieces_put(struct pieces *pieces);

/* Whether a program has left the same ones, at the moment when they are looked at: 1, 0, or -EFAULT. */
int pieces_are(const struct pieces *pieces, const struct list_source *from);

bool pieces_equal(const struct pieces *a, const struct pieces *b);

/* The bytes of the file that somebody wants. Open, as a nest is: pure arithmetic, safe from any thread. */
struct list {
    const struct pieces *pieces;
    uint64_t base;   /* in the file, of the first tile's first byte */
    uint64_t extent; /* UINT64_MAX: a single tile */
    uint64_t skip, size;
};

/* How pieces are wanted; bytes is more than 0. -EINVAL: tiles interleave, or a single one has less; -EOVERFLOW. */
int list_init(struct list *list, const struct pieces *pieces, uint64_t disp, uint64_t extent, uint64_t skip,
              uint64_t bytes);

/* As nest_rank, nest_select_run, nest_gather and nest_scatter have it. */
uint64_t list_rank(const struct list *list, uint64_t x);
uint64_t list_select_run(const struct list *list, uint64_t k, uint64_t *ret_len);
size_t list_gather(const struct list *list, uint64_t lo, uint64_t hi, const void *spread, void *packed);
size_t list_scatter(const struct list *list, uint64_t lo, uint64_t hi, void *spread, const void *packed);

/* The runs of bytes in [lo, hi), in file order: far quicker than selecting one after the other. */
typedef void list_visit(void *arg, uint64_t file_off, uint64_t len);

void list_each_run(const struct list *list, uint64_t lo, uint64_t hi, list_visit *visit, void *arg);

#endif
