/* SPDX-License-Identifier: MIT */
/* Bars, and whether they are met: a line of a table each, and of the JSON. */
#ifndef FALLSFS_TEST_BENCH_JUDGE_H
#define FALLSFS_TEST_BENCH_JUDGE_H

#include "layout/base.h"

#include <stdio.h>

struct judge {
    FILE *json; /* may be NULL */
    unsigned n, n_missed;
};

/* Opens the JSON, unless it is NULL, and begins it up to the bars; what names more of it, or is "". Ends the program
 * when it cannot be opened. */
void judge_begin(struct judge *judge, const char *json, const char *remark, const char *more);

void judge_head(void); /* of the table */

void judge_bar(struct judge *judge, const char *what, double value, const char *unit, bool at_most, double bar,
               bool met);

/* The same, when nothing but the value decides. */
void judge_at_most(struct judge *judge, const char *what, double value, const char *unit, double bar);
void judge_at_least(struct judge *judge, const char *what, double value, const char *unit, double bar);

#endif
