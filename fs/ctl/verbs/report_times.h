/* SPDX-License-Identifier: MIT */
/* Verbs that report again and again: [-n COUNT] [SECONDS] [MOUNTPOINT].
 *
 *     report 0 ── seconds ── report 1 ── seconds ── report 2 ...        by the clock: a slow report delays no other */
#ifndef FALLSFS_FS_CTL_VERBS_REPORT_TIMES_H
#define FALLSFS_FS_CTL_VERBS_REPORT_TIMES_H

#include "fs/ctl/talk/args.h"

#define TIME_TEXT 32

struct report_times {
    double seconds; /* between two reports */
    uint64_t count; /* of reports; 0: as many as there are */
    uint64_t began; /* clock_ns */
};

/* Reads how often, and which mount, out of the words of a verb: *ret_place is NULL where none is named. Where no
 * SECONDS are named, it is so many of them and so many reports, 0: without end. False: it has been said what is wrong,
 * and *ret_status is how the program ends. */
bool report_times_read(const struct args *args, const char *count, double usual_seconds, uint64_t usual_count,
                       struct report_times *ret_times, const char **ret_place, enum ctl_status *ret_status);

/* Waits until it is time for report i, counted from 0. False: there is none. */
bool report_times_wait(const struct report_times *times, uint64_t i);

/* A time as people read it: 12us, 3.4ms, 1.5s. */
const char *time_text(double seconds, char text[static TIME_TEXT]);

#endif
