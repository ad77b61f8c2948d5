/* SPDX-License-Identifier: MIT */
/* When the home disk is lost: an empty directory becomes the new one, and the names are made anew from the copies of
 * records that the other disks have.
 *
 *     d1, d2: obj/XX/ID.m { record, mode, owner, times, path }   ──>   ns/path    or ns/lost+found/ID
 *
 * Files all of whose bytes were on the home disk are gone; of others what was there is lost. Directories get the mode
 * 755: nobody else knows theirs. A path is the last one that was copied, a rename since is not known.
 *
 * Of files with `copies 2` the second map of replicas is written to the new home disk before they get their names; the
 * check that follows brings back from the second copy what was on the home disk. */
#ifndef FALLSFS_FS_FSCK_REBUILD_H
#define FALLSFS_FS_FSCK_REBUILD_H

#include "fs/core/volume/volume.h"
#include "fs/fsck/finding.h"

/* Makes the one member that is empty the home disk. Does nothing when that was done before and the names are not
 * complete yet. -EINVAL and others: ret_error says why. */
int rebuild_home(const struct member member[], uint32_t n, struct volume_error *ret_error);

/* Makes the names anew, and tells of them as findings of check. May be done again, also after it was interrupted. */
int rebuild_names(struct check *check, struct volume *volume);

/* Whether the home disk of this volume still lacks names, since making them was interrupted. */
bool rebuild_is_unfinished(struct volume *volume);

#endif
