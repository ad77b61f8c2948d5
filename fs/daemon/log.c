/* SPDX-License-Identifier: MIT */
#include "fs/daemon/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <syslog.h>

static bool to_system;

void log_to_system(void)
{
    openlog("fallsfs", LOG_PID, LOG_DAEMON);
    to_system = true;
}

static void say(int priority, const char *fmt, va_list list)
{
    if (to_system) {
        vsyslog(priority, fmt, list);
        return;
    }
    char text[2048];

    vsnprintf(text, sizeof text, fmt, list);
    fprintf(stderr, "fallsfs: %s\n", text);
}

void log_error(const char *fmt, ...)
{
    va_list list;

    va_start(list, fmt);
    say(LOG_ERR, fmt, list);
    va_end(list);
}

void log_warning(const char *fmt, ...)
{
    va_list list;

    va_start(list, fmt);
    say(LOG_WARNING, fmt, list);
    va_end(list);
}

void log_note(const char *fmt, ...)
{
    va_list list;

    va_start(list, fmt);
    say(LOG_NOTICE, fmt, list);
    va_end(list);
}
