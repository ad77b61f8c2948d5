/* SPDX-License-Identifier: MIT */
/* The figures of a mount in Prometheus' text format. A family has its help and its type in front of its samples, one
 * line each:
 *
 *     # HELP fallsfs_disk_queue Calls that the disk has not answered yet.
 *     # TYPE fallsfs_disk_queue gauge
 *     fallsfs_disk_queue{disk="d0"} 3
 *
 * fallsfs-metrics(5) has all names. No name of a file and no user is in them: anybody may read them. */
#ifndef FALLSFS_FS_DAEMON_METRICS_EXPOSITION_H
#define FALLSFS_FS_DAEMON_METRICS_EXPOSITION_H

#include <stdio.h>

/* Prints the figures of now; -ENOMEM. */
int exposition_print(FILE *out);

#endif
