/* SPDX-License-Identifier: MIT */
/* From samples of views to a table like the paper's, and the bars that hold or do not. */
#ifndef FALLSFS_TEST_BENCH_VIEWS_REPORT_H
#define FALLSFS_TEST_BENCH_VIEWS_REPORT_H

#include "layout/base.h"

/* How a matrix lies on four subfiles. */
enum views_stored { VIEWS_COLUMNS, VIEWS_SQUARES, VIEWS_ROWS, VIEWS_STORED };

/* As targets of samples; one more, "plain": a file of the disk's own file system. */
extern const char *const views_stored_name[VIEWS_STORED + 1];

#define VIEWS_SIZES 5
extern const uint64_t views_size[VIEWS_SIZES]; /* n */

/* Prints; writes json, unless NULL. True when every bar holds. */
bool views_report(const char *samples, const char *remark, const char *json);

#endif
