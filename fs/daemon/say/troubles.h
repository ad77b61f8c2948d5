/* SPDX-License-Identifier: MIT */
/* What core tells of, kept until it is said: in the log, with the name of the file, and to whoever's request failed for
 * it. Those are told under core's locks, so they are noted first, and said by who holds none.
 *
 *     core ── the listener  ──> [ d1: subfile 3 of inode 17 is missing ] ── troubles_say ──> log
 *                                                                        └─ troubles_why ──> user.falls.lasterror
 */
#ifndef FALLSFS_FS_DAEMON_SAY_TROUBLES_H
#define FALLSFS_FS_DAEMON_SAY_TROUBLES_H

#include "fs/core/fs.h"

#define TROUBLE_TEXT 512

struct troubles;

/* Makes an empty list of troubles. Names of files are shown behind mountpoint, which outlives it. */
int troubles_new(const char *mountpoint, struct troubles **ret_troubles);
void troubles_free(struct troubles *troubles);

/* The listener that volume_watch gets. */
const struct listener *troubles_listener(struct troubles *troubles);

/* Logs the troubles that were not logged yet: of each kind and disk so many in so much time, and in the end how many
 * were left out. A full or an absent disk is left to those whose requests fail for it. */
void troubles_say(struct troubles *troubles, struct fs *fs);

/* Logs the troubles that were not logged yet, when nobody is served any more. fs NULL: files have no names any more,
 * either. */
void troubles_say_last(struct troubles *troubles, struct fs *fs);

/* Finds the reason why a request about that inode has failed with -error; false: nobody has told of one, and the caller
 * must say that it failed. Logs the troubles that are left to those whose requests fail. */
bool troubles_why(struct troubles *troubles, struct fs *fs, uint64_t nodeid, int error,
                  char ret_why[static TROUBLE_TEXT]);

/* Logs that a request has failed, with a reason of the daemon's own. */
void troubles_failed(struct troubles *troubles, struct fs *fs, uint64_t nodeid, const char *why);

/* Names the disks that do not answer now, as in "d1 (/mnt/d1) has". NULL: all answer, or there is no memory. */
char *troubles_silent(struct fs *fs);

/* Looks a few times a second which disks have stopped to answer or to take writes, and which do so again, and logs
 * that. True: one may be written again. */
bool troubles_look(struct troubles *troubles, struct fs *fs);

#endif
