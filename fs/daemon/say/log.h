/* SPDX-License-Identifier: MIT */
/* What the daemon has to say: on standard error while it has one, in the system log afterwards. The environment's
 * FALLSFS_LOG says how much: error, warning, info (which is usual) or debug. A line is text whatever a name in it has
 * (utf8.h). */
#ifndef FALLSFS_FS_DAEMON_SAY_LOG_H
#define FALLSFS_FS_DAEMON_SAY_LOG_H

#include "layout/base.h"

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

extern enum log_level log_level;

/* Reads FALLSFS_LOG; a word that is none of the above is warned of. */
void log_init(void);

PRINTF_LIKE(1, 2) void log_error(const char *fmt, ...);
PRINTF_LIKE(1, 2) void log_warning(const char *fmt, ...);
PRINTF_LIKE(1, 2) void log_note(const char *fmt, ...);
PRINTF_LIKE(1, 2) void log_debug(const char *fmt, ...);

/* Ask before anything is computed for log_debug alone. */
static inline bool log_has_debug(void)
{
    return log_level >= LOG_LEVEL_DEBUG;
}

/* Writes to the system log from now on. */
void log_to_system(void);

/* Limits lines of one kind: LOG_BURST in LOG_WINDOW milliseconds are written, the others counted. Its users lock it. */
#define LOG_BURST  5
#define LOG_WINDOW 10000

struct log_limit {
    uint64_t since; /* on clock_ms's clock */
    uint32_t n, n_left_out;
};

/* Whether one more line may be written now. */
bool log_may_say(struct log_limit *limit, uint64_t now);

/* How many lines were left out and are to be told of now; each is told of once. */
uint32_t log_left_out(struct log_limit *limit, uint64_t now);

#endif
