/* SPDX-License-Identifier: MIT */
/* Checks a volume, and repairs what can be repaired without inventing anything.
 *
 *     todo/, tmp/         what a crash left unfinished                     finished
 *     ns/ ──> records     damaged                                          restored from a copy
 *         ──> subfiles    missing, short: bytes are lost                   told, each time; reading them stays an error
 *                         where the second copy has the bytes              brought back from there
 *                         longer than the file                             cut
 *         ──> replicas    less there than their map says, a damaged map    bits cleared: they are filled again
 *     layout/             a text damaged or missing on some disk           written anew from another
 *                         a text that no record and no copy names          removed, if all are known
 *     obj/                objects that no record and no map names          moved to .fallsfs/lost/ on their disk,
 *                                                                          or removed, as who asks wishes
 *
 * Nothing that a valid record names is removed or moved, whatever else is wrong. Without repair nothing is written at
 * all. A second check finds what the first one could not repair, and no more. It ends on any content of the disks. */
#ifndef FALLSFS_FS_FSCK_CHECK_H
#define FALLSFS_FS_FSCK_CHECK_H

#include "fs/core/volume/volume.h"
#include "fs/fsck/finding.h"

/* Checks an open volume whose locks are taken; with repair it must not be read-only. -ENOMEM, -EIO: the check could not
 * go on. */
int check_volume(struct check *check, struct volume *volume);

#endif
