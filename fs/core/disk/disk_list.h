/* SPDX-License-Identifier: MIT */
/* Several paths in one word, for where there is room for one only: the source of a mount, its column in fstab. Colons
 * separate; a colon or a backslash of a path itself has a backslash before it.
 *
 *     /mnt/d0:/mnt/a\:b        /mnt/d0  /mnt/a:b
 *     /mnt/d0:/mnt/d1:...      too long: there are more
 *
 * A backslash before any other character is one. */
#ifndef FALLSFS_FS_CORE_DISK_DISK_LIST_H
#define FALLSFS_FS_CORE_DISK_DISK_LIST_H

#include "layout/base.h"

#define DISK_LIST_MORE "..."

/* Prints a list of all paths, or of the first ones and DISK_LIST_MORE when the list would be longer than max. NULL: no
 * memory. */
char *disk_list_print(char *const path[], uint32_t n, size_t max);

/* Reads the next path of a list and moves *at behind it: 1, or 0 at the end of the list, or -ENOMEM. Empty paths, as
 * between two colons, are left out. */
int disk_list_next(const char **at, char **ret_path);

#endif
