/* SPDX-License-Identifier: MIT */
/* One step of one job, as far as a thread goes before it looks who is next:
 *
 *     not in use ──> the file is taken into use ──> windows are copied ──> over
 *                          paused, given up <── as somebody ordered, or a disk has failed */
#ifndef FALLSFS_FS_CORE_CHANGE_JOB_STEP_H
#define FALLSFS_FS_CORE_CHANGE_JOB_STEP_H

#include "fs/core/change/job_list.h"

#define JOB_LATER 250 /* ms until what a disk refused is tried again */

/* Works on a job that the caller has made busy. */
void job_work_on(struct jobs *jobs, struct job *job);

#endif
