/* SPDX-License-Identifier: MIT */
/* todo/ on the home disk lists what a crash must find without a look at all files, as links of stubs:
 *
 *     ID      a file without a name: its bytes are still to be removed
 *     ID.w    one that was about to lose its name, and may yet keep it
 *     ID.g    one on its way to another layout (journal.h)
 *
 * Users do not see it. */
#ifndef FALLSFS_FS_CORE_STUB_TODO_H
#define FALLSFS_FS_CORE_STUB_TODO_H

#include "fs/core/stub/inode.h"
#include "fs/core/volume/record.h"

#include <sys/stat.h>

#define TODO_NAME (2 * ID_SIZE + 3)

enum todo_kind { TODO_GONE, TODO_WAITS, TODO_MOVES };

/* The name that a file with this record has in todo/ as one of this kind. */
void todo_name(const struct record *record, enum todo_kind kind, char ret_name[static TODO_NAME]);

/* Whether a name in todo/ is one of this kind. */
bool todo_is(const char *name, enum todo_kind kind);

/* How many links a file has in todo/, one of which has this name; 1 when the name tells nothing. */
nlink_t todo_count(const struct volume *volume, const char *name);

/* Removes the link in todo/ that a file in use got when the name that led to it went. inode->lock is held. */
void todo_drop_spare(struct inodes *inodes, const struct volume *volume, struct inode *inode,
                     const struct record *record);

struct todo_visit {
    int (*gone)(void *arg, const struct record *record); /* the file is listed as ID now, and nowhere else */
    int (*moves)(void *arg, const char *name, const struct stat *st);
    void *arg;
};

/* Takes up what a crash has left in todo/, before anybody works on the volume: calls visit for each file that is
 * listed. The other names that a file is listed by go: a file without names outside is gone, one that has kept its name
 * is not. A file that has no record is left for fsck. Ends with what visit returns below 0. */
int todo_take_up(const struct volume *volume, const struct todo_visit *visit);

#endif
