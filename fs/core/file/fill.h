/* SPDX-License-Identifier: MIT */
/* Filling another generation with what the file has: the target of a migration, or a replica.
 *
 *     now      # # # . . . # #      holes are found, and stay holes where they can
 *     other    # # # . . . # #
 */
#ifndef FALLSFS_FS_CORE_FILE_FILL_H
#define FALLSFS_FS_CORE_FILE_FILL_H

#include "fs/core/file/generation.h"

struct plan;

/* A part of a subfile that has no hole, as somebody has seen it. */
struct solid {
    uint64_t from, until;
};

/* Finds out whether all bytes of a plan to read a generation are data (full), or none is (empty), or neither. Shares
 * that are done are passed over. solid remembers for each slot what was found; or NULL. io is held. */
int fill_look_for_holes(struct fs *fs, struct generation *from, const struct plan *plan, struct solid *solid,
                        bool *ret_full, bool *ret_empty);

/* Writes bytes [lo, hi) of the file to a generation. sparse: blocks of zeros are left out, as nothing is there yet. io
 * and the range are held. */
int fill_write(struct fs *fs, struct generation *to, uint64_t lo, uint64_t hi, void *buf, bool sparse);

/* Carries out a plan to write to a generation, and has disks begin to write where much has piled up. */
int fill_run(struct fs *fs, struct generation *generation, struct plan *plan);

#endif
