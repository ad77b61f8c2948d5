/* SPDX-License-Identifier: MIT */
/* Files whose replicas are to be filled, or whose disks are to be told what is right of them: some time after the last
 * change, by a thread that leaves the disks to users first.
 *
 *     a window changes ──> listed ──> quiet for REFILL_AFTER ──> filled, synced, told ──> not listed
 *                             ^                 │
 *                             └── still changing, or a disk fails
 */
#ifndef FALLSFS_FS_CORE_CHANGE_REFILL_H
#define FALLSFS_FS_CORE_CHANGE_REFILL_H

#include "fs/core/stub/in_use.h"

#define REFILL_AFTER 5000 /* ms */

struct refills;

int refills_new(struct fs *fs, struct refills **ret_refills);
void refills_free(struct refills *refills);

/* Begins a thread that works until refills_stop. */
int refills_start(struct refills *refills);

/* Ends the work, for the end of the mount: disks are told what is right of what has changed. */
void refills_stop(struct refills *refills);

/* Lists a file. */
void refills_note(struct refills *refills, struct inode *inode);

/* Works on the first file that is listed, changed or not. false: none is. For who has no thread. */
bool refills_step(struct refills *refills);

/* Lists files that an earlier mount has left, if it did not end well: the thread does so first. For who has none. */
void refills_scan(struct refills *refills);

/* Has replicas that lie on full disks give way, as somebody was refused room, and waits for that, some time. */
void refills_make_room(struct refills *refills);

/* How many files are listed. */
uint32_t refills_count(struct refills *refills);

#endif
