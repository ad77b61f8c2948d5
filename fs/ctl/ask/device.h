/* SPDX-License-Identifier: MIT */
/* Which device a directory lies on: disks of a volume that lie on one share its arm and its rate. */
#ifndef FALLSFS_FS_CTL_ASK_DEVICE_H
#define FALLSFS_FS_CTL_ASK_DEVICE_H

#include <sys/types.h>

/* The device that a file system's is a partition of, as the system lists them; else that of the file system itself. */
dev_t device_of(dev_t dev);

#endif
