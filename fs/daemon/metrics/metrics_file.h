/* SPDX-License-Identifier: MIT */
/* A file that has the metrics, for collectors that read files: replaced as a whole every PERIOD seconds, and once more
 * at the end of the mount.
 *
 *     exposition ──> FILE.new ──rename──> FILE        who opens FILE reads all of one writing
 */
#ifndef FALLSFS_FS_DAEMON_METRICS_METRICS_FILE_H
#define FALLSFS_FS_DAEMON_METRICS_METRICS_FILE_H

#include "fs/core/volume/volume.h"

#define METRICS_FILE_PERIOD 15 /* seconds */

struct metrics_file;

/* Makes the path of the file one from the root, so that it stays right when the daemon changes its directory. -EINVAL:
 * it lies in the mount, which would wait for itself. */
int metrics_file_resolve(char **path, const char *mountpoint, struct volume_error *error);

/* Writes the file from now on. What goes wrong is logged, once for each reason. path NULL: there is no file. */
int metrics_file_start(const char *path, struct metrics_file **ret_file);

/* Writes it for the last time. */
void metrics_file_end(struct metrics_file *file);

#endif
