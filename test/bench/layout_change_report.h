/* SPDX-License-Identifier: MIT */
/* From samples of changes of layouts to tables, and the bars that hold or do not. */
#ifndef FALLSFS_TEST_BENCH_LAYOUT_CHANGE_REPORT_H
#define FALLSFS_TEST_BENCH_LAYOUT_CHANGE_REPORT_H

#include "layout/base.h"

/* Prints; writes json, unless NULL. True when every bar holds that could be judged. */
bool layout_change_report(const char *samples, const char *remark, const char *json);

#endif
