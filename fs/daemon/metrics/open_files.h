/* SPDX-License-Identifier: MIT */
/* Which files are open, by which processes, and what was read and written by each handle: as JSON, for fallsctl top.
 *
 *     a user                      what this user has opened
 *     root, and who mounted       all
 *
 * Of very many those are told by which most was moved. Nothing is kept for it but four counters in each handle. */
#ifndef FALLSFS_FS_DAEMON_METRICS_OPEN_FILES_H
#define FALLSFS_FS_DAEMON_METRICS_OPEN_FILES_H

#include <stdio.h>
#include <sys/types.h>

/* Prints what this user may see; -ENOMEM. */
int open_files_print(uid_t uid, FILE *out);

#endif
