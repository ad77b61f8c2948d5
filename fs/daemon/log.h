/* SPDX-License-Identifier: MIT */
/* What the daemon has to say: on standard error while it has one, in the system log afterwards. */
#ifndef FALLSFS_FS_DAEMON_LOG_H
#define FALLSFS_FS_DAEMON_LOG_H

#include "layout/base.h"

PRINTF_LIKE(1, 2) void log_error(const char *fmt, ...);
PRINTF_LIKE(1, 2) void log_warning(const char *fmt, ...);
PRINTF_LIKE(1, 2) void log_note(const char *fmt, ...);

/* From here on to the system log. */
void log_to_system(void);

#endif
