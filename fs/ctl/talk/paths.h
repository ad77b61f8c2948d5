/* SPDX-License-Identifier: MIT */
/* Verbs that go through paths: what there is to say of each, or why not, and how many there were. */
#ifndef FALLSFS_FS_CTL_TALK_PATHS_H
#define FALLSFS_FS_CTL_TALK_PATHS_H

#include "fs/ctl/talk/ctl_status.h"
#include "fs/json/json.h"

#include <fts.h>

struct paths {
    bool as_json;
    struct json json; /* with JSON: inside an array of objects */
    int done, failed;
    bool leave_out; /* set by who takes a directory: what is in it is not gone through */
    /* What lies so deep that no path leads there: the directory that is the last one to have one. NULL: it fails. */
    void (*too_deep)(void *ctx, const char *directory);
};

void paths_begin(struct paths *paths, bool as_json);

/* Says why on standard error, and with JSON as an object of its own. */
PRINTF_LIKE(3, 4) void paths_fail(struct paths *paths, const char *path, const char *fmt, ...);

/* Calls take for what is at the path and below, in the same file system. Of what cannot be looked at it says why, of
 * what was removed meanwhile nothing. */
void paths_walk(struct paths *paths, char *path, void (*take)(void *ctx, const FTSENT *entry), void *ctx);

/* The directory that a path is in. NULL without memory. */
char *paths_directory(const char *path);

/* How the verb ends: CTL_PARTIAL when some paths failed, CTL_ERROR when all did. */
enum ctl_status paths_status(const struct paths *paths);

/* Returns what paths_status does, and with JSON writes the end of it. */
enum ctl_status paths_end(struct paths *paths);

#endif
