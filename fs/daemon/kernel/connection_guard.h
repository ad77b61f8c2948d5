/* SPDX-License-Identifier: MIT */
/* A process that outlives a killed daemon by a moment. A thread that tells the kernel to forget pages waits in there
 * while one of them is locked, which it is until the daemon answers:
 *
 *     program    write() ──> page locked ──> WRITE ......................... waits for the daemon's answer
 *     daemon     a group has written ──> forget these pages ............... waits for the page
 *     kill -9    all other threads end; this one cannot, and keeps the connection open: nobody is ever answered
 *
 * The guard is told by the kernel when the daemon's first thread ends, and ends the connection. */
#ifndef FALLSFS_FS_DAEMON_KERNEL_CONNECTION_GUARD_H
#define FALLSFS_FS_DAEMON_KERNEL_CONNECTION_GUARD_H

#include "layout/base.h"

#include <sys/types.h>

/* Starts the guard; it watches when this returns. To be called by the first thread, before there are others, when the
 * mount is there. */
int connection_guard_start(const char *mountpoint, pid_t *ret_guard);

/* Has the guard end the connection, which is done when this returns. The mount must be there. *guard 0: there is no
 * guard, and nothing happens. */
void connection_guard_act(pid_t *guard);

/* Ends the guard, which has nothing to do any more. *guard 0: there is none. */
void connection_guard_end(pid_t *guard);

#endif
