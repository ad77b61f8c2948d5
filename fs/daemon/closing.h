/* SPDX-License-Identifier: MIT */
/* Ends the mount when a signal asks for it. What groups have begun is finished first, while requests are served as
 * ever: the kernel, told to forget pages, has them written back before it lets go of who told it.
 *
 *     SIGTERM ──> no round begins any more ──> those at work end ──> the loop that serves ends
 *        └─ a second one, or none of this within the time a request may take ───────┘ */
#ifndef FALLSFS_FS_DAEMON_CLOSING_H
#define FALLSFS_FS_DAEMON_CLOSING_H

#include "fs/daemon/group/collect.h"

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

struct closing;

/* Starts to listen for signals. To be called by the thread that is going to serve, before there are others. timeout:
 * seconds a request may take; 0: any. */
int closing_start(struct fuse_session *session, struct collect *collect, pid_t *guard, uint32_t timeout,
                  struct closing **ret_closing);

/* Ends the listening, when the loop that serves has ended. */
void closing_end(struct closing *closing);

#endif
