/* SPDX-License-Identifier: MIT */
/* Memory whose holes stay holes when they are touched: that ends with SIGBUS, which ioctl/guard.h lives through. So
 * nobody needs to look before each touch, and nothing is filled that was punched out in between. */
#ifndef FALLSFS_FS_DAEMON_GROUP_TRAP_H
#define FALLSFS_FS_DAEMON_GROUP_TRAP_H

#include "layout/base.h"

/* Opens a descriptor that traps are set with; -1: the system has none to give, before Linux 5.11 or in a strict
 * sandbox. */
int trap_open(void);

/* Makes holes of a part of a shared mapping, of whole pages, stay holes when they are touched. False: they do not. */
bool trap_set(int trap, const uint8_t *addr, uint64_t len);

/* Fills the holes of a part of a mapping, and nothing else. -EFAULT: memory is short. */
int trap_fill(int trap, const uint8_t *addr, uint64_t len, uint64_t page);

#endif
