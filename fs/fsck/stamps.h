/* SPDX-License-Identifier: MIT */
/* Stamps, before the volume can be opened: one that is damaged is written anew from the others, when there is no doubt
 * whose it is. */
#ifndef FALLSFS_FS_FSCK_STAMPS_H
#define FALLSFS_FS_FSCK_STAMPS_H

#include "fs/core/volume/volume.h"
#include "fs/fsck/finding.h"

/* Checks the stamps, and adds to the counts of check. Whatever else keeps the volume from being opened is not looked
 * at: volume_open says it. Beside a stamp of a newer fallsfs nothing is repaired: -EPROTONOSUPPORT. -EBUSY the volume
 * is in use. */
int stamps_check(struct check *check, const struct member member[], uint32_t n, struct volume_error *ret_error);

#endif
