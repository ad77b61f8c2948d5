/* SPDX-License-Identifier: MIT */
/* Stamps, before the volume can be opened: one that is damaged is written anew from the others, when there is no doubt
 * whose it is. */
#ifndef FALLSFS_FS_FSCK_STAMPS_H
#define FALLSFS_FS_FSCK_STAMPS_H

#include "fs/fsck/check.h"

/* Adds to the counts of check. -EBUSY the volume is in use. What keeps the volume from being opened and is no damaged
 * stamp is not looked at: volume_open says it. */
int stamps_check(struct check *check, const struct member member[], uint32_t n);

#endif
