/* SPDX-License-Identifier: MIT */
/* Replicas give way where a disk is full: nothing is lost with them. Those go first that writes make wrong anyway. */
#ifndef FALLSFS_FS_CORE_CHANGE_GIVE_WAY_H
#define FALLSFS_FS_CORE_CHANGE_GIVE_WAY_H

#include "fs/core/stub/in_use.h"

/* Drops replicas that lie on full disks until none is full: of files in use first, then, if looks_further, of those
 * that lie there, which it goes through all subfiles of a disk for. Returns how many. Files with `copies 2` that nobody
 * uses keep what they have. */
uint32_t replicas_give_way(struct fs *fs, bool looks_further);

#endif
