/* SPDX-License-Identifier: MIT */
#ifndef FALLSFS_FS_DAEMON_BOUNDS_MEMORY_H
#define FALLSFS_FS_DAEMON_BOUNDS_MEMORY_H

#include <stdint.h>

/* How many bytes this process may use at most: those of the machine, or of the smallest of the control groups that it
 * is in, of either version. */
uint64_t memory_there_is(void);

#endif
