/* SPDX-License-Identifier: MIT */
#include "fs/daemon/say/log.h"

#include "fs/json/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#define MAX_LINE 2048

enum log_level log_level = LOG_LEVEL_INFO;

static bool to_system;
static bool with_priority; /* the journal reads standard error, and takes a line's priority from its start */

/* Whether the journal reads fd: systemd has put into the environment which file it reads, and standard error may have
 * been sent elsewhere since. */
static bool is_journal(int fd)
{
    const char *stream = getenv("JOURNAL_STREAM");
    unsigned long long dev, ino;
    struct stat st;

    /* Numbers that overflow name no file that fd could be. NOLINTNEXTLINE(cert-err34-c) */
    return stream != NULL && sscanf(stream, "%llu:%llu", &dev, &ino) == 2 && fstat(fd, &st) == 0 && st.st_dev == dev &&
           st.st_ino == ino;
}

void log_init(void)
{
    static const char *const names[] = { "error", "warning", "info", "debug" };
    const char *wish = getenv("FALLSFS_LOG");

    with_priority = is_journal(STDERR_FILENO);
    if (wish == NULL || *wish == 0)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strcmp(wish, names[i]) == 0) {
            log_level = (enum log_level) i;
            return;
        }
    log_warning("FALLSFS_LOG is '%s', which is none of error, warning, info, debug: going on as with info", wish);
}

void log_to_system(void)
{
    openlog("fallsfs", LOG_PID, LOG_DAEMON);
    to_system = true;
}

static void say(enum log_level level, const char *fmt, va_list list)
{
    static const int priority[] = { LOG_ERR, LOG_WARNING, LOG_NOTICE, LOG_DEBUG };
    char text[MAX_LINE];

    if (level > log_level)
        return;
    vsnprintf(text, sizeof text, fmt, list);
    utf8_tame(text);
    if (to_system)
        syslog(priority[level], "%s", text);
    else if (with_priority)
        fprintf(stderr, "<%d>fallsfs: %s\n", priority[level], text);
    else
        fprintf(stderr, "fallsfs: %s\n", text);
}

void log_error(const char *fmt, ...)
{
    va_list list;

    va_start(list, fmt);
    say(LOG_LEVEL_ERROR, fmt, list);
    va_end(list);
}

void log_warning(const char *fmt, ...)
{
    va_list list;

    va_start(list, fmt);
    say(LOG_LEVEL_WARNING, fmt, list);
    va_end(list);
}

void log_note(const char *fmt, ...)
{
    va_list list;

    va_start(list, fmt);
    say(LOG_LEVEL_INFO, fmt, list);
    va_end(list);
}

void log_debug(const char *fmt, ...)
{
    va_list list;

    va_start(list, fmt);
    say(LOG_LEVEL_DEBUG, fmt, list);
    va_end(list);
}

bool log_may_say(struct log_limit *limit, uint64_t now)
{
    if (now - limit->since > LOG_WINDOW) {
        limit->since = now;
        limit->n = 0;
    }
    if (limit->n < LOG_BURST) {
        limit->n++;
        return true;
    }
    limit->n_left_out++;
    return false;
}

uint32_t log_left_out(struct log_limit *limit, uint64_t now)
{
    uint32_t n = now - limit->since > LOG_WINDOW ? limit->n_left_out : 0;

    limit->n_left_out -= n;
    return n;
}
