/* SPDX-License-Identifier: MIT */
/* A volume for programs, as its disks tell of it, or as its mount does: see fallsctl-json(5). */
#ifndef FALLSFS_FS_CTL_VERBS_STATUS_JSON_H
#define FALLSFS_FS_CTL_VERBS_STATUS_JSON_H

#include "fs/ctl/ask/view.h"

/* notes are lines, or NULL. */
void status_json_view(struct json *json, const struct view *view, const char *notes);
void status_json_mount(struct json *json, const struct mount_info *mount);

#endif
