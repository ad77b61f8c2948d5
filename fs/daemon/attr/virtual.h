/* SPDX-License-Identifier: MIT */
/* Attributes user.falls.NAME: questions and orders to the daemon in the shape of extended attributes. They are answered
 * here and never reach a disk as such.
 *
 *     setfattr -n user.falls.layout -v 'stripe(4M)' FILE   ──>  table ──>  layout_set(call, "stripe(4M)")
 *     getfattr -n user.falls.at.4096 FILE                  ──>  table ──>  at_get(call), call->rest is "4096"
 *
 * Each name is a row of the table in virtual.c. Who sets one and is refused reads why in user.falls.lasterror. */
#ifndef FALLSFS_FS_DAEMON_ATTR_VIRTUAL_H
#define FALLSFS_FS_DAEMON_ATTR_VIRTUAL_H

#include "fs/daemon/attr/virtual_call.h"

/* As the system calls have it. The value of get is the caller's to free, its length is returned. */
ssize_t virtual_get(struct virtual_call *call, const char *name, char **ret_value);
int virtual_set(struct virtual_call *call, const char *name, const char *value, size_t len, int flags);
int virtual_remove(struct virtual_call *call, const char *name);

/* Adds the names that are listed to a list of so many bytes with room for size; how many there are then. */
size_t virtual_list(struct virtual_call *call, char *list, size_t len, size_t size);

#endif
