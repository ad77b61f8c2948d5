/* SPDX-License-Identifier: MIT */
/* Attributes user.falls.NAME: questions and orders to the daemon in the shape of extended attributes. They are answered
 * here and never reach a disk as such.
 *
 *     setfattr -n user.falls.layout -v 'stripe(4M)' FILE   ──>  table ──>  layout_set(call, "stripe(4M)")
 *     getfattr -n user.falls.at.4096 FILE                  ──>  table ──>  at_get(call), call->rest is "4096"
 *
 * Each name is a row of the table in virtual.c. Who sets one and is refused reads why in user.falls.lasterror. */
#ifndef FALLSFS_FS_DAEMON_VIRTUAL_H
#define FALLSFS_FS_DAEMON_VIRTUAL_H

#include "fs/core/fs.h"
#include "fs/daemon/options.h"
#include "fs/daemon/reasons.h"
#include "layout/layout.h"

#include <stdio.h>

struct tours;

struct virtual_call {
    struct fs *fs;
    struct inode *inode;
    struct reasons *reasons;
    struct tours *tours;
    struct cred cred;
    enum layout_allow allow; /* who may give layouts */
    bool in_group;           /* when it changes something: the caller is in the group that allow speaks of */
    const char *rest;        /* of the name, behind what the row has */
    char *why;               /* REASON_SIZE; filled by virtual_refuse */
};

enum {
    ON_FILE = 1,
    ON_DIRECTORY = 2,
};

/* What a row does not have cannot be done. Functions return 0 or -errno. The kernel has checked already that the caller
 * may read, or write, the file. */
struct virtual_attr {
    const char *name; /* behind user.falls.; with a dot at the end: whatever begins so */
    unsigned on;
    int (*get)(const struct virtual_call *call, FILE *out);
    int (*set)(const struct virtual_call *call, const char *value, size_t len); /* value[len] is 0 */
    int (*remove)(const struct virtual_call *call);
    bool (*is_listed)(const struct virtual_call *call); /* NULL: never, so that nobody copies it */
};

/* Notes why, for lasterror; returns r. */
PRINTF_LIKE(3, 4) int virtual_refuse(const struct virtual_call *call, int r, const char *fmt, ...);

/* What a text is refused for, in the numbers that setxattr has. */
int virtual_refuse_text(const struct virtual_call *call, int r, const struct layout_error *error);

/* 0 for who owns the file, and for root; others are refused. */
int virtual_check_owner(const struct virtual_call *call);

/* The same for changes of layouts, which not every owner may be allowed. */
int virtual_check_may_lay_out(const struct virtual_call *call);

/* Whether a name, as the kernel has it, is one of these. */
bool virtual_is(const char *name);

/* As the system calls have it. The value of get is the caller's to free, its length is returned. */
ssize_t virtual_get(struct virtual_call *call, const char *name, char **ret_value);
int virtual_set(struct virtual_call *call, const char *name, const char *value, size_t len, int flags);
int virtual_remove(struct virtual_call *call, const char *name);

/* Adds the names that are listed to a list of so many bytes with room for size; how many there are then. */
size_t virtual_list(struct virtual_call *call, char *list, size_t len, size_t size);

/* -- the rows -- */

int layout_get(const struct virtual_call *call, FILE *out);
int layout_set(const struct virtual_call *call, const char *value, size_t len);
int layout_remove(const struct virtual_call *call);
bool layout_is_listed(const struct virtual_call *call);
int layout_json_get(const struct virtual_call *call, FILE *out);
int array_get(const struct virtual_call *call, FILE *out);
int array_set(const struct virtual_call *call, const char *value, size_t len);
int array_remove(const struct virtual_call *call);
bool array_is_listed(const struct virtual_call *call);
int view_get(const struct virtual_call *call, FILE *out);
int view_set(const struct virtual_call *call, const char *value, size_t len);
int view_remove(const struct virtual_call *call);
int map_get(const struct virtual_call *call, FILE *out);
int map_get_from(const struct virtual_call *call, FILE *out);
int at_get(const struct virtual_call *call, FILE *out);
int migrate_get(const struct virtual_call *call, FILE *out);
int migrate_set(const struct virtual_call *call, const char *value, size_t len);
int leave_get(const struct virtual_call *call, FILE *out);
int disks_get(const struct virtual_call *call, FILE *out);
int disks_set(const struct virtual_call *call, const char *value, size_t len);
int jobs_get(const struct virtual_call *call, FILE *out);
int jobs_get_all(const struct virtual_call *call, FILE *out);
int jobs_set(const struct virtual_call *call, const char *value, size_t len);

#endif
