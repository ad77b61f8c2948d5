/* SPDX-License-Identifier: MIT */
/* Which files have replicas that lack something, when nobody remembers: after a mount that did not end well, or ended
 * before all were filled. All stubs are looked at, and the maps of those that have one.
 *
 *     .fallsfs/refill     on the home disk: there may be such files
 */
#ifndef FALLSFS_FS_CORE_CHANGE_REFILL_SCAN_H
#define FALLSFS_FS_CORE_CHANGE_REFILL_SCAN_H

#include "fs/core/stub/in_use.h"

/* Whether this mount is to look; notes on the home disk that somebody is, where the last mount did not end well. */
bool refill_scan_is_due(struct fs *fs);

/* Notes whether the next mount is to look. */
void refill_scan_note(const struct fs *fs, bool is_due);

/* Tells found of each file whose replicas lack something, until it returns false: whether all stubs were looked at. */
bool refill_scan(struct fs *fs, bool (*found)(void *arg, struct inode *inode), void *arg);

#endif
