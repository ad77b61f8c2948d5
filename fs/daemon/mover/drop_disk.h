/* SPDX-License-Identifier: MIT */
/* The last step of a disk that leaves: what was moved away is removed, and the disk goes out of the volume. */
#ifndef FALLSFS_FS_DAEMON_MOVER_DROP_DISK_H
#define FALLSFS_FS_DAEMON_MOVER_DROP_DISK_H

#include "fs/daemon/say/last_errors.h"

struct fs;

/* Ends the leaving of a disk that nothing is left on. -EBUSY: something is, and others; ret_why says what. */
int drop_disk(struct fs *fs, uint32_t index, char ret_why[static LAST_ERROR_SIZE]);

#endif
