/* SPDX-License-Identifier: MIT */
/* Nothing of what is measured stays in memory. Files first, since what is dirty cannot go; then what processes have
 * mapped, which the system would keep; then all the rest; and last the arms of slow disks, which this has moved:
 *
 *     cold_file      cold_process      cold_system      cold_disk
 *
 * What fails ends the program, which would measure something else then. */
#ifndef FALLSFS_TEST_BENCH_COLD_H
#define FALLSFS_TEST_BENCH_COLD_H

#include <sys/types.h>

/* Its bytes are on its disks; one that is not there is none. */
void cold_file(const char *path);

/* What the daemon has mapped of subfiles leaves memory. */
void cold_process(pid_t pid);

void cold_system(void);
void cold_pages(void); /* names and inodes stay */

/* Parks the arm of the disk whose model this is: who comes next has to seek, as whoever came before him. */
void cold_disk(const char *model);

#endif
