/* SPDX-License-Identifier: MIT */
/* The figures of a mount as JSON, for fallsctl and other programs: whole numbers, ns and bytes, with all their digits.
 * fallsctl-json(5) has the fields. */
#ifndef FALLSFS_FS_DAEMON_METRICS_STATS_H
#define FALLSFS_FS_DAEMON_METRICS_STATS_H

#include <stdio.h>

/* Prints the figures of now; -ENOMEM. */
int stats_print(FILE *out);

#endif
