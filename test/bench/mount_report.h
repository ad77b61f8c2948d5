/* SPDX-License-Identifier: MIT */
/* From samples to a table: medians of what was measured, and the bars that hold or do not. */
#ifndef FALLSFS_TEST_BENCH_MOUNT_REPORT_H
#define FALLSFS_TEST_BENCH_MOUNT_REPORT_H

#include "layout/base.h"

/* Reads samples, one a line: row, target, round, value, client's and daemon's CPU. Prints; writes json, unless NULL.
 * True when every bar that could be judged holds. */
bool mount_report(const char *samples, const char *remark, const char *json);

#endif
