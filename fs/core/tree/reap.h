/* SPDX-License-Identifier: MIT */
/* Files without a name. A file whose last name goes moves into todo/ on the home disk, the list of what must still be
 * removed: a crash finds it there. Its bytes on other disks go only when that move is durable, or a crash could bring
 * back the name without them. Many wait for one sync. */
#ifndef FALLSFS_FS_CORE_TREE_REAP_H
#define FALLSFS_FS_CORE_TREE_REAP_H

#include "fs/core/stub/in_use.h"

struct reaper;

int reaper_new(struct fs *fs, struct reaper **ret_reaper);
void reaper_free(struct reaper *reaper);

/* Removes the subfiles of a file that nobody uses, and then its stub in todo/, if it is listed there: at once when an
 * fsync has promised none of its bytes, else some time later. */
void reaper_take(struct reaper *reaper, const struct record *record, bool is_listed);

/* Counts files without a name that wait until the kernel has forgotten them, which it does at once unless somebody
 * holds them: one waits (is_new; else it was told of before), and one has gone. */
void reaper_await(struct reaper *reaper, bool is_new);
void reaper_has(struct reaper *reaper);

/* Waits until what was removed is gone, and only a moment for what the kernel has not forgotten. For who has found no
 * room; not to be called in a later chore, unless its waits is set. */
void reaper_wait(struct reaper *reaper);

/* Tries again to remove what a disk has refused to. Is called now and then. */
void reaper_retry(struct reaper *reaper);

/* Removes, after a crash, a file that todo/ lists, like reaper_take. */
void reaper_take_listed(struct reaper *reaper, const struct record *record);

#endif
