/* SPDX-License-Identifier: MIT */
/* From the disks the user named to an open volume: some come late at boot, some do not come at all. */
#ifndef FALLSFS_FS_DAEMON_DISKS_H
#define FALLSFS_FS_DAEMON_DISKS_H

#include "fs/core/volume.h"
#include "fs/daemon/options.h"

/* Makes the disks' paths absolute; those that are not there stay as they are meant. */
int disks_resolve(struct options *options, struct volume_error *error);

/* Waits for disks as long as options allow. When some do not come and options say so, what is there is opened as with
 * ro,degraded, and options say that. */
int disks_open(struct options *options, struct volume **ret_volume, struct volume_error *error);

#endif
