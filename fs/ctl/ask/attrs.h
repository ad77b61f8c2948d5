/* SPDX-License-Identifier: MIT */
/* Attributes user.falls.* of files in a mount, as any program may ask for them. */
#ifndef FALLSFS_FS_CTL_ASK_ATTRS_H
#define FALLSFS_FS_CTL_ASK_ATTRS_H

#include "layout/base.h"

#define ATTRS_WHY 640

/* What -errno of a call to a mount means for who has asked: as strerror, where that says enough. */
const char *attrs_strerror(int r);

/* Reads user.falls.NAME into a text to be freed; 0, or -errno. */
int attrs_get(const char *path, const char *name, char **ret_text);

/* Reads user.falls.map, in parts where one value has no room for all subfiles. */
int attrs_get_map(const char *path, char **ret_text);

/* Sets user.falls.NAME, or removes it when text is NULL. On failure ret_why is what the daemon gives as the reason, or
 * else what the error number means. Never call it for a path that attrs_check has not passed: other file systems keep
 * such attributes without asking. */
int attrs_set(const char *path, const char *name, const char *text, char ret_why[static ATTRS_WHY]);

/* Whether a path lies in a mounted fallsfs; ret_json is what the mount says of its layout. */
int attrs_check(const char *path, char **ret_json, char ret_why[static ATTRS_WHY]);

/* Writes the reason to ret_why; returns r. */
PRINTF_LIKE(3, 4) int attrs_refuse(char ret_why[static ATTRS_WHY], int r, const char *fmt, ...);

#endif
