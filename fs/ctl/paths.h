/* SPDX-License-Identifier: MIT */
/* Verbs that go through paths: what there is to say of each, or why not, and how many there were. */
#ifndef FALLSFS_FS_CTL_PATHS_H
#define FALLSFS_FS_CTL_PATHS_H

#include "fs/ctl/ctl.h"
#include "fs/ctl/json.h"

#include <fts.h>

struct paths {
    bool as_json;
    struct json json; /* with JSON: inside an array of objects */
    int done, failed;
};

void paths_begin(struct paths *paths, bool as_json);

/* Says why on standard error, and with JSON as an object of its own. */
PRINTF_LIKE(3, 4) void paths_fail(struct paths *paths, const char *path, const char *fmt, ...);

/* Takes what is at the path and below, in the same file system; why something there cannot be looked at is said. */
void paths_walk(struct paths *paths, char *path, void (*take)(void *ctx, const FTSENT *entry), void *ctx);

/* The directory that a path is in. NULL without memory. */
char *paths_directory(const char *path);

/* CTL_PARTIAL when some failed, CTL_ERROR when all did. */
enum ctl_status paths_status(const struct paths *paths);

/* The same, and with JSON the end of it. */
enum ctl_status paths_end(struct paths *paths);

#endif
