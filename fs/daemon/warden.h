/* SPDX-License-Identifier: MIT */
/* A process that outlives a killed daemon by a moment. A thread that tells the kernel to forget pages waits in there
 * while one of them is locked, which it is until the daemon answers:
 *
 *     program    write() ──> page locked ──> WRITE ......................... waits for the daemon's answer
 *     daemon     a group has written ──> forget these pages ............... waits for the page
 *     kill -9    all other threads end; this one cannot, and keeps the connection open: nobody is ever answered
 *
 * The warden is told by the kernel when the daemon's first thread ends, and ends the connection. */
#ifndef FALLSFS_FS_DAEMON_WARDEN_H
#define FALLSFS_FS_DAEMON_WARDEN_H

#include "layout/base.h"

#include <sys/types.h>

/* Called by the first thread, before there are others; the mount is there. */
int warden_start(const char *mountpoint, pid_t *ret_warden);

/* Has it end the connection, which is done when this returns. The mount must be there. 0: there is none. */
void warden_act(pid_t *warden);

/* It has nothing to do any more. 0: there is none. */
void warden_end(pid_t *warden);

#endif
