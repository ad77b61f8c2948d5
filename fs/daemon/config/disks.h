/* SPDX-License-Identifier: MIT */
/* From the disks the user named to an open volume: some come late at boot, some do not come at all. */
#ifndef FALLSFS_FS_DAEMON_CONFIG_DISKS_H
#define FALLSFS_FS_DAEMON_CONFIG_DISKS_H

#include "fs/core/volume/volume.h"
#include "fs/daemon/config/options.h"

/* Makes the paths of the disks absolute, also of those that are not there, and checks that none is named twice, and
 * none is the mount point. */
int disks_resolve(struct options *options, struct volume_error *error);

/* Opens the volume of the disks, and waits for them as long as options allow. When some do not come and options say so,
 * it opens what is there as with ro,degraded, and makes options say that. */
int disks_open(struct options *options, struct volume **ret_volume, struct volume_error *error);

#endif
