/* SPDX-License-Identifier: MIT */
/* What a change of layout moves: bytes from each disk to each, also from one place on a disk to another. Subfiles that
 * have the right bytes on the right disk stay, and holes are nothing. */
#ifndef FALLSFS_FS_CTL_MOVES_H
#define FALLSFS_FS_CTL_MOVES_H

#include "fs/ctl/json.h"
#include "fs/ctl/laid.h"

struct moves {
    uint32_t n_disks;
    uint64_t *bytes; /* [from * n_disks + to] */
    uint64_t total, stays;
};

/* From the layout the file has to the one this text means on its volume. -E2BIG when that takes too long to say;
 * -EINVAL, ret_why says why. */
int moves_init(struct moves *moves, const struct laid *laid, const char *path, const char *text,
               char ret_why[static ATTRS_WHY]);
void moves_done(struct moves *moves);

void moves_add(struct moves *sum, const struct moves *more);

void moves_print(const struct moves *moves, bool raw);
void moves_json(struct json *json, const struct moves *moves);

#endif
