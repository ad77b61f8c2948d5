/* SPDX-License-Identifier: MIT */
/* Samples on their way from who measures to who reports, a line each in a file:
 *
 *     row target round value client daemon         read.1 falls 0 1.25 0.21 0.34
 *
 * client and daemon are CPU seconds of a unit of the value. A round that was measured again counts once. */
#ifndef FALLSFS_TEST_BENCH_SAMPLES_H
#define FALLSFS_TEST_BENCH_SAMPLES_H

#include "ioctl/client/bench/trial.h"

#include <stdio.h>

enum field { VALUE, CPU, CLIENT, DAEMON }; /* CPU: of both */

/* What one target did in one row. */
struct series {
    char row[32], target[16];
    bool has[TRIAL_MAX_ROUNDS];
    double value[TRIAL_MAX_ROUNDS], client[TRIAL_MAX_ROUNDS], daemon[TRIAL_MAX_ROUNDS];
};

/* To append to; ends the program when it cannot be. */
FILE *samples_open(const char *path);
void samples_add(FILE *out, const char *row, const char *target, unsigned round, double value, double client,
                 double daemon);

/* Ends the program when there is no such file. What was read before is forgotten. */
void samples_read(const char *path);

const struct series *samples_of(const char *row, const char *target); /* NULL: was not measured */
unsigned samples_count(void);                                         /* of series */
const struct series *samples_at(unsigned i);

struct spread samples_spread(const struct series *s, enum field field);

/* Of rounds, not of medians: what was measured one after the other is compared. */
struct spread samples_ratio(const struct series *a, const struct series *b, enum field field);

/* One series as an object of JSON. */
void samples_print_json(FILE *json, const struct series *s, const char *unit);

#endif
