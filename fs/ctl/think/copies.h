/* SPDX-License-Identifier: MIT */
/* Two copies of a file's bytes on two disks are worth little where both disks lie on one device: that fails with both.
 *
 *     on d0-d3 copies 2     d0 ─┐             d1 ─┬─ sdb      what lies on d1 has its copy on d2: the same device
 *                               sda           d2 ─┘ */
#ifndef FALLSFS_FS_CTL_THINK_COPIES_H
#define FALLSFS_FS_CTL_THINK_COPIES_H

#include "fs/ctl/ask/file_info.h"

#define COPIES_WHY 256

/* Says which two disks on one device have both copies of some bytes; false: none do, as far as the mount tells, or
 * there is only one copy. */
bool copies_share_device(const struct file_info *info, char ret_why[static COPIES_WHY]);

#endif
