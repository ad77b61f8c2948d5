/* SPDX-License-Identifier: MIT */
/* The kinds of orders: each goes through all that the order is about, and returns 0, or why it could not. An order that
 * shall end returns -ECANCELED, or 0 where nothing was left to be done. */
#ifndef FALLSFS_FS_DAEMON_MOVER_KINDS_H
#define FALLSFS_FS_DAEMON_MOVER_KINDS_H

#include "fs/daemon/mover/moving.h"

int move_below(struct moving *moving);
int move_balance(struct moving *moving);
int move_leave(struct moving *moving);

#endif
