/* SPDX-License-Identifier: MIT */
/* What a change of layout moves: bytes from each disk to each, also from one place on a disk to another. Subfiles that
 * have the right bytes on the right disk stay, and holes are nothing. */
#ifndef FALLSFS_FS_CTL_THINK_MOVES_H
#define FALLSFS_FS_CTL_THINK_MOVES_H

#include "fs/ctl/ask/file_info.h"
#include "fs/json/json.h"

#define MOVES_START UINT32_MAX

struct moves {
    uint32_t n_disks;
    uint64_t *bytes; /* [from * n_disks + to] */
    uint64_t total, stays;
};

/* Counts what moves from the layout that the file has to the one that text means on its volume. start is the disk that
 * the file is to start on; MOVES_START: it starts as it does now, which need not be what the daemon will choose. -E2BIG
 * when counting takes too long; -EINVAL: ret_why says why. */
int moves_init(struct moves *moves, const struct file_info *info, const char *path, const char *text, uint32_t start,
               char ret_why[static ATTRS_WHY]);
void moves_done(struct moves *moves);

void moves_add(struct moves *sum, const struct moves *more);

void moves_print(const struct moves *moves, bool raw);
void moves_json(struct json *json, const struct moves *moves);

#endif
