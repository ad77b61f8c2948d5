/* SPDX-License-Identifier: MIT */
/* Which subfiles have what is selected of a range of the file, and which of them have other bytes of it, too.
 *
 *     selected      # # . # # . # # .
 *     subfiles      0 0 1 0 0 2 0 0 1        0 has selected bytes alone, 1 and 2 have none
 */
#ifndef FALLSFS_FS_CORE_FILE_TOUCHED_H
#define FALLSFS_FS_CORE_FILE_TOUCHED_H

#include "fs/core/volume/file_layouts.h"
#include "ioctl/store.h"

/* What is wanted of a range: the bytes that nested FALLS have. */
struct nest_selection {
    struct selection selection;
    const struct nest *nest;
};

struct nest_selection nest_selection_of(const struct nest *nest);

struct touched {
    uint32_t n_slots;
    uint8_t *flags; /* of each slot: SELECTED, NOT_SELECTED; 0: it has nothing of the range */
};

/* -ENOMEM. Of pieces too many to look at, each subfile is said to have both. */
int touched_find(const struct file_layout *layout, uint64_t file_off, uint64_t len, const struct selection *only,
                 struct touched *ret_touched);
void touched_done(struct touched *touched);

/* Whether a subfile has something that is selected, or may, since nothing was found out. */
static inline bool touched_has(const struct touched *touched, uint32_t slot)
{
    return touched->flags == NULL || (touched->flags[slot] & SELECTED) != 0;
}

/* Whether no subfile has both. */
bool touched_is_apart(const struct touched *touched);

#endif
