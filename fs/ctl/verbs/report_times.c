/* SPDX-License-Identifier: MIT */
#include "fs/ctl/verbs/report_times.h"

#include "layout/clock.h"

#include <stdio.h>
#include <string.h>

#define MAX_SECONDS 1e6
#define MIN_SECONDS 0.01

/* Whether a word is a number of seconds; a mount point that looks like one is written ./5. */
static bool read_seconds(const char *word, double *ret_seconds)
{
    char *end;

    if (word[0] < '0' || word[0] > '9')
        return false;
    *ret_seconds = strtod(word, &end);
    return *end == 0;
}

static bool read_count(const char *word, uint64_t *ret_count)
{
    char *end;

    errno = 0;
    *ret_count = strtoull(word, &end, 10);
    return errno == 0 && word[0] >= '0' && word[0] <= '9' && *end == 0 && *ret_count > 0;
}

bool report_times_read(const struct args *args, const char *count, double usual_seconds, uint64_t usual_count,
                       struct report_times *ret_times, const char **ret_place, enum ctl_status *ret_status)
{
    struct report_times times = { .seconds = usual_seconds, .count = usual_count };
    int at = 0;

    if (args->n > 0 && read_seconds(args->word[0], &times.seconds)) {
        times.count = 0;
        at = 1;
    }
    if (times.seconds < MIN_SECONDS || times.seconds > MAX_SECONDS) {
        *ret_status = args_complain(args->verb, "SECONDS go from 0.01 to a million", args->word[0]);
        return false;
    }
    if (count != NULL && !read_count(count, &times.count)) {
        *ret_status = args_complain(args->verb, "-n takes how many reports, 1 or more", count);
        return false;
    }
    if (args->n > at + 1) {
        *ret_status = args_complain(args->verb, "one mount at a time", args->word[at + 1]);
        return false;
    }
    times.began = clock_ns();
    *ret_times = times;
    *ret_place = args->n > at ? args->word[at] : NULL;
    return true;
}

bool report_times_wait(const struct report_times *times, uint64_t i)
{
    uint64_t until = times->began + (uint64_t) ((double) i * times->seconds * 1e9), now = clock_ns();
    struct timespec rest;

    if (times->count > 0 && i >= times->count)
        return false;
    if (until > now) {
        rest = (struct timespec){ (time_t) ((until - now) / 1000000000), (long) ((until - now) % 1000000000) };
        (void) nanosleep(&rest, NULL);
    }
    return true;
}

const char *time_text(double seconds, char text[static TIME_TEXT])
{
    if (seconds < 1e-3)
        snprintf(text, TIME_TEXT, seconds < 1e-5 ? "%.1fus" : "%.0fus", seconds * 1e6);
    else if (seconds < 1)
        snprintf(text, TIME_TEXT, seconds < 1e-2 ? "%.1fms" : "%.0fms", seconds * 1e3);
    else
        snprintf(text, TIME_TEXT, seconds < 10 ? "%.1fs" : "%.0fs", seconds);
    return text;
}
