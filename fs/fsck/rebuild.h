/* SPDX-License-Identifier: MIT */
/* When the home disk is lost: an empty directory becomes the new one, and the names are made anew from the copies of
 * records that the other disks have.
 *
 *     d1, d2: obj/XX/ID.m { record, mode, owner, times, path }   ──>   ns/path    or ns/lost+found/ID
 *
 * Files all of whose bytes were on the home disk are gone; of others what was there is lost. Directories get the mode
 * 755: nobody else knows theirs. A path is the last one that was copied, a rename since is not known. */
#ifndef FALLSFS_FS_FSCK_REBUILD_H
#define FALLSFS_FS_FSCK_REBUILD_H

#include "fs/fsck/check.h"

/* Makes the one member that is empty the home disk; nothing when it was made before and the names are not complete
 * yet. -EINVAL and others: ret_error says why. */
int rebuild_home(const struct member member[], uint32_t n, struct volume_error *ret_error);

/* The names, told as findings of check; may be done again, also after it was interrupted. */
int rebuild_names(struct check *check, struct volume *volume);

#endif
