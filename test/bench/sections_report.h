/* SPDX-License-Identifier: MIT */
/* From samples of sections to a table, a line for each case, and the bars that hold or do not. */
#ifndef FALLSFS_TEST_BENCH_SECTIONS_REPORT_H
#define FALLSFS_TEST_BENCH_SECTIONS_REPORT_H

#include "layout/base.h"

/* What the last call of a collective did, as it says itself. */
enum deed {
    NS_WAIT, /* nanoseconds */
    NS_PLAN,
    NS_IO,
    NS_EXCHANGE,
    NS_TOTAL,
    DOMAINS,
    WINDOWS,
    REQUESTS,
    BYTES_READ,
    BYTES_WRITTEN,
    BYTES_MAPPED,
    BYTES_REREAD,
    DEEDS
};

/* Samples, one a line: what it is of (time, did, failed, memory, size, ranks), case, target, method, round or deed, two
 * numbers.
 * Prints; writes json, unless NULL. True when every bar that could be judged holds and nobody of ours failed. */
bool sections_report(const char *samples, const char *remark, const char *json);

#endif
