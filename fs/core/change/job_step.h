/* SPDX-License-Identifier: MIT */
/* One step of one job, as far as a thread goes before it looks who is next:
 *
 *     not in use ──> the file is taken into use ──> windows are copied ──> over
 *         ^                paused, given up <── as somebody ordered, or a disk has failed
 *         └── paused, or it rests, and another one needs its descriptors
 *
 * The files of a few jobs are in use at a time, with so many descriptors as all jobs may have. What waits for its turn
 * has none. */
#ifndef FALLSFS_FS_CORE_CHANGE_JOB_STEP_H
#define FALLSFS_FS_CORE_CHANGE_JOB_STEP_H

#include "fs/core/change/job_list.h"

#define JOB_LATER 250 /* ms until what a disk refused is tried again */

/* Works on a job that the caller has made busy. */
void job_work_on(struct jobs *jobs, struct job *job);

/* How many descriptors a job may have open that gives a file this layout. */
uint32_t job_fds(struct file *file, const struct file_layout *layout);

/* Lets go of the file of a job, which takes it into use again when it is worked on next. */
void job_release(struct jobs *jobs, struct job *job);

#endif
