/* SPDX-License-Identifier: MIT */
/* Which files of a mount are open, by whom, and what was moved by each open file, of its open.json: what the one who
 * asks has opened; of root, all. */
#ifndef FALLSFS_FS_CTL_ASK_OPEN_FILES_H
#define FALLSFS_FS_CTL_ASK_OPEN_FILES_H

#include "fs/ctl/ask/attrs.h"

#include <sys/types.h>

#define OPEN_FILE_COMMAND 17

struct open_file {
    uint64_t handle, inode;
    char *file; /* from the mount's root; NULL: it has no name any more */
    bool is_view;
    uid_t uid;
    pid_t pid;                       /* of the process that opened it, as far as it can be told; 0: it cannot */
    char command[OPEN_FILE_COMMAND]; /* of that process; empty: it has ended */
    uint64_t reads, read, writes, written;
};

struct open_files {
    uint32_t n;
    struct open_file *file;
};

/* Asks the mount at target, as stats_get does. */
int open_files_get(const char *target, struct open_files *ret_files, char ret_why[static ATTRS_WHY]);
void open_files_done(struct open_files *files);

/* The one of this handle; NULL: there is none. */
const struct open_file *open_files_find(const struct open_files *files, uint64_t handle);

#endif
