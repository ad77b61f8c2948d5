/* SPDX-License-Identifier: MIT */
/* One question or order by an attribute user.falls.NAME, and how it is refused. */
#ifndef FALLSFS_FS_DAEMON_ATTR_VIRTUAL_CALL_H
#define FALLSFS_FS_DAEMON_ATTR_VIRTUAL_CALL_H

#include "fs/core/fs.h"
#include "fs/daemon/config/options.h"
#include "fs/daemon/say/last_errors.h"
#include "layout/layout.h"

#include <stdio.h>

#define VIRTUAL_PREFIX "user.falls."

struct handles;
struct mover;
struct tracing;

struct virtual_call {
    struct fs *fs;
    struct inode *inode;
    struct last_errors *last_errors;
    struct handles *handles;
    struct mover *mover;
    struct tracing *tracing;
    struct cred cred;
    enum layout_allow allow; /* who may give layouts */
    uint32_t max_jobs;       /* that an ordinary user may have */
    bool in_group;           /* when it changes something: the caller is in the group that allow speaks of */
    const char *rest;        /* of the name, behind what the row has */
    char *why;               /* LAST_ERROR_SIZE; filled by virtual_refuse */
};

/* Whether a name, as the kernel has it, is that of such an attribute. */
bool virtual_is(const char *name);

/* Notes why, for lasterror; returns r. */
PRINTF_LIKE(3, 4) int virtual_refuse(const struct virtual_call *call, int r, const char *fmt, ...);

/* The word behind "limit=100M ", and how much that is; 0: it does not say. */
int virtual_read_limit(const struct virtual_call *call, const char **word, uint64_t *ret_limit);

/* What a text is refused for, in the numbers that setxattr has. */
int virtual_refuse_text(const struct virtual_call *call, int r, const struct layout_error *error);

/* Finds the layout that a text means, on disks that take new bytes, and keeps it; refuses it with words. *ret_rotates:
 * as layouts_add. */
int virtual_keep_layout(const struct virtual_call *call, const char *text, struct file_layout **ret_layout,
                        bool *ret_rotates);

/* Charges those who have a file open for a layout that it is about to get, beside the one it has. */
int virtual_charge(const struct virtual_call *call, struct file *file, const struct file_layout *layout);

/* 0 for who owns the file, and for root; others are refused. */
int virtual_check_owner(const struct virtual_call *call);

/* The same for changes of layouts, which not every owner may be allowed. */
int virtual_check_may_lay_out(const struct virtual_call *call);

#endif
