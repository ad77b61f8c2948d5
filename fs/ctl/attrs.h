/* SPDX-License-Identifier: MIT */
/* Attributes user.falls.* of files in a mount, as any program may ask for them. */
#ifndef FALLSFS_FS_CTL_ATTRS_H
#define FALLSFS_FS_CTL_ATTRS_H

#include "layout/base.h"

#define ATTRS_WHY 640

/* 0, or -errno. name is behind user.falls. */
int attrs_get(const char *path, const char *name, char **ret_text);

/* user.falls.map, in parts where one value has no room for all subfiles. */
int attrs_get_map(const char *path, char **ret_text);

/* text NULL: removes it. Why not is what the daemon says, if it does. Never call it for what attrs_check has not
 * passed: other file systems keep such attributes without asking. */
int attrs_set(const char *path, const char *name, const char *text, char ret_why[static ATTRS_WHY]);

/* Whether it lies in a mounted fallsfs; ret_json is what that has to say of its layout. */
int attrs_check(const char *path, char **ret_json, char ret_why[static ATTRS_WHY]);

/* Notes why, gives r back. */
PRINTF_LIKE(3, 4) int attrs_refuse(char ret_why[static ATTRS_WHY], int r, const char *fmt, ...);

#endif
