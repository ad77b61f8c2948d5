/* SPDX-License-Identifier: MIT */
/* What is recommended, told: of one file, and of several together. */
#ifndef FALLSFS_FS_CTL_VERBS_RECOMMEND_H
#define FALLSFS_FS_CTL_VERBS_RECOMMEND_H

#include "fs/ctl/talk/ctl_status.h"
#include "fs/ctl/think/together.h"
#include "fs/json/json.h"

/* The fields of one file, into the object that is open. */
void recommend_json(struct json *json, const struct recommending *asked, const struct recommendation *found);

/* What replicas would be worth beside the best layout. */
void replicas_print(const struct recommendation *found);
void replicas_json(struct json *json, const struct recommendation *found);

/* Tell all of it. applies: what is to be done is not told, since it is done next. */
enum ctl_status recommend_say(const struct recommending *asked, const struct recommendation *found, bool as_json,
                              bool applies);
enum ctl_status recommend_say_together(const struct together *together, bool as_json, bool applies);

/* Tells the command that gives the file a layout. */
void recommend_to_do(const struct recommending *asked, const char *layout);

#endif
