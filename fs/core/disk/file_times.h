/* SPDX-License-Identifier: MIT */
/* Times of files, as the kernel's file systems have them. They stamp by a clock that moves in ticks, but for a file
 * that somebody has looked at since its last change, which gets the time to the nanosecond (Linux 6.13 and later):
 *
 *     tick                            tick
 *      |        touch: |                |        what is stamped from here on is not older than that touch
 *
 * A time that we give a file ourselves must not be older than what the kernel has stamped before, nor newer than what
 * it stamps after: it is the tick, or the newest stamp that was seen if that is later. */
#ifndef FALLSFS_FS_CORE_DISK_FILE_TIMES_H
#define FALLSFS_FS_CORE_DISK_FILE_TIMES_H

#include <sys/stat.h>
#include <time.h>

/* Notes the stamp of a file of a local disk: its ctime, which is nobody's to choose. */
void file_times_see(const struct stat *st);

/* The time that a file gets which is changed now. */
struct timespec file_times_now(void);

#endif
