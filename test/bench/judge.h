/* SPDX-License-Identifier: MIT */
/* A report's bars, and whether they are met, as lines of a table; and the report as JSON:
 *
 *     judge_begin      { "remark": ..., "bars": [
 *     judge_bar            { "what": ..., "value": ..., "met": true },            | what | value | bar | ok |
 *     judge_total                                                                 1 bars, 0 missed.
 *     judge_end        ], "measured": [ an object for each series ] } */
#ifndef FALLSFS_TEST_BENCH_JUDGE_H
#define FALLSFS_TEST_BENCH_JUDGE_H

#include "ioctl/client/bench/trial.h"

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

/* A little off a bar that some rounds did reach is as good as on it: within 5 % when a quartile is on it. */
bool judge_reaches(struct spread value, bool at_most, double bar);

/* For a bar whose lines the caller prints himself: counts it. Returns the JSON, where its object is next, or NULL. */
FILE *judge_count(struct judge *judge, bool met);
const char *judge_word(bool met);

/* Says how many bars there were; reaches: that judge_reaches was asked about all of them. */
void judge_total(const struct judge *judge, bool reaches);

/* Ends the JSON with n objects, which print prints; true when no bar was missed. */
bool judge_end(struct judge *judge, unsigned n, void (*print)(FILE *json, unsigned i));

#endif
