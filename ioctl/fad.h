/* SPDX-License-Identifier: MIT */
/* File access descriptors: what each member of a group asks for, and questions about all of it together. A member's
 * bytes are a nest of FALLS, however many pieces that is, or the list that the member has given; nothing here makes a
 * list. Either may count the bytes of a view, which are the file's through the view's own nest:
 *
 *     nest or list      . # . # # .       of the view's bytes
 *     through           0 1 . . 2 3 . . 4 5 . .      where these are in the file
 *
 * Who works on them asks the same of all of them:
 *
 *     struct asked { nest or list, through }      size, rank, select, next, prev, gather, scatter
 */
#ifndef FALLSFS_IOCTL_FAD_H
#define FALLSFS_IOCTL_FAD_H

#include "ioctl/list.h"
#include "layout/gather.h"

/* Whether memory that is a member's may be touched. -EFAULT: it may not. missed: it was, and some was not there: what
 * may be there is, after this. */
typedef int memory_ready(void *memory, const uint8_t *at, uint64_t len, bool missed);

/* The bytes of the file that a member wants, and where they go or come from: so many bytes, in file order. */
struct asked {
    const struct nest *nest; /* may be empty; NULL: it is a list */
    const struct list *list;
    const struct nest *through; /* they count its bytes; NULL: the file's */
    uint8_t *buf;
    memory_ready *ready; /* called before some of it is touched, and when it was missed; NULL: it is always there */
    void *memory;
};

static inline uint64_t asked_size(const struct asked *asked)
{
    return asked->nest != NULL ? asked->nest->size : asked->list->size;
}

static inline uint64_t asked_rank(const struct asked *asked, uint64_t x)
{
    if (asked->through != NULL)
        x = nest_rank(asked->through, x);
    return asked->nest != NULL ? nest_rank(asked->nest, x) : list_rank(asked->list, x);
}

/* Where the k-th byte is among those that are counted, and how many follow it there without a hole. */
static inline uint64_t asked_select_inner(const struct asked *asked, uint64_t k, uint64_t *ret_len)
{
    return asked->nest != NULL ? nest_select_run(asked->nest, k, ret_len) : list_select_run(asked->list, k, ret_len);
}

static inline uint64_t asked_select_run(const struct asked *asked, uint64_t k, uint64_t *ret_len)
{
    uint64_t x = asked_select_inner(asked, k, ret_len), len;

    if (asked->through == NULL)
        return x;
    x = nest_select_run(asked->through, x, &len);
    *ret_len = MIN(*ret_len, len);
    return x;
}

static inline uint64_t asked_select(const struct asked *asked, uint64_t k)
{
    uint64_t len;

    return asked_select_run(asked, k, &len);
}

/* The first byte at or after x, the last one at or before x; false when there is none. */
bool asked_next(const struct asked *asked, uint64_t x, uint64_t *ret_byte);
bool asked_prev(const struct asked *asked, uint64_t x, uint64_t *ret_byte);

/* Run by run of the view's bytes. */
size_t asked_gather_through(const struct asked *asked, uint64_t lo, uint64_t hi, const void *spread, void *packed);
size_t asked_scatter_through(const struct asked *asked, uint64_t lo, uint64_t hi, void *spread, const void *packed);

static inline size_t asked_gather(const struct asked *asked, uint64_t lo, uint64_t hi, const void *spread, void *packed)
{
    if (asked->through != NULL)
        return asked_gather_through(asked, lo, hi, spread, packed);
    return asked->nest != NULL ? nest_gather(asked->nest, lo, hi, spread, packed)
                               : list_gather(asked->list, lo, hi, spread, packed);
}

static inline size_t asked_scatter(const struct asked *asked, uint64_t lo, uint64_t hi, void *spread,
                                   const void *packed)
{
    if (asked->through != NULL)
        return asked_scatter_through(asked, lo, hi, spread, packed);
    return asked->nest != NULL ? nest_scatter(asked->nest, lo, hi, spread, packed)
                               : list_scatter(asked->list, lo, hi, spread, packed);
}

struct fad {
    const struct asked *asked;
    uint32_t n;
    uint64_t lo, hi; /* the bounding section: from the first byte asked for to the end of the last; lo == hi: nothing */
    uint64_t total;  /* bytes, all members together */
};

struct fad fad_of(const struct asked asked[], uint32_t n);

#endif
