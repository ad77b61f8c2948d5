/* SPDX-License-Identifier: MIT */
/* What of subfiles is in memory, as the file systems of the disks keep it: in pages, all that was read or written once.
 * Who reads on where somebody has read before him is read ahead for:
 *
 *     pages of a subfile      0 1 2 3 4 5 6 7 8 9
 *     page 0 is read          R a a a . . . . . .      the disk is asked once, for it and what is ahead
 *     then 1 and 2            R R R a . . . . . .      and not for these: only their bytes take time
 *     then 8, at random       R R R a . . . . R .      alone
 *     then 2 again            R R R a . . . . R .      from memory
 *
 * What is written stays until all is over; then it goes to the disks in the order of the subfile. Memory is thought to
 * be large enough. */
#ifndef FALLSFS_FS_LEARN_PAGES_H
#define FALLSFS_FS_LEARN_PAGES_H

#include "layout/base.h"

#define PAGES_MAX (UINT64_C(1) << 27) /* that are remembered, of each subfile the same number from its beginning */

struct page_bits {
    uint64_t *word;
    uint64_t n; /* words */
};

struct page_table {
    struct page_bits here, ahead, written;
};

struct pages {
    uint64_t size, ahead; /* bytes of a page; pages that are read ahead */
    struct page_table *slot;
    uint32_t n_slots;
};

/* What reading a range asks of the disk. */
struct page_ask {
    uint64_t bytes; /* that come from it, in whole pages; 0: all is in memory */
    bool goes;      /* it is asked for them now; else it was before */
    uint64_t from;  /* of the subfile, where it begins then, and where it stops */
    uint64_t to;
};

int pages_init(struct pages *pages, uint32_t n_slots, uint64_t size, uint64_t ahead);
void pages_done(struct pages *pages);

/* Whether what of subfiles lies before end is remembered. */
static inline bool pages_reach(const struct pages *pages, uint64_t end)
{
    return end / pages->size < PAGES_MAX / pages->n_slots;
}

/* Bytes [from, from + len) of a subfile, which pages reach, len > 0. -ENOMEM. */
int pages_read(struct pages *pages, uint32_t slot, uint64_t from, uint64_t len, struct page_ask *ret_ask);
int pages_write(struct pages *pages, uint32_t slot, uint64_t from, uint64_t len);

/* The next range of a subfile that was written, from *at on, which moves behind it; false: there are no more. */
bool pages_written(const struct pages *pages, uint32_t slot, uint64_t *at, uint64_t *ret_from, uint64_t *ret_to);

#endif
