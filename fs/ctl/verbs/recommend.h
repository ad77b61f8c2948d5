/* SPDX-License-Identifier: MIT */
/* What is recommended, told: of one file, and of several together. */
#ifndef FALLSFS_FS_CTL_VERBS_RECOMMEND_H
#define FALLSFS_FS_CTL_VERBS_RECOMMEND_H

#include "fs/ctl/talk/ctl_status.h"
#include "fs/ctl/think/together.h"
#include "fs/json/json.h"

/* The fields of one file, into the object that is open. */
void recommend_json(struct json *json, const struct recommending *asked, const struct recommendation *found);

/* A replica that is proposed, as a command says it. */
struct proposed {
    const struct replica *replica;
    char *layout, *only;  /* only NULL: all of the file */
    const char *on_write; /* NULL: what is usual, which is to drop what is written */
    uint64_t room, left;  /* bytes that it takes, and that disks have; left UINT64_MAX: nobody knows */
    bool has_room;
};

/* -ENOMEM. */
int proposed_init(struct proposed *proposed, const struct recommending *asked, const struct recommendation *found,
                  uint32_t i);
void proposed_done(struct proposed *proposed);

/* Tells the command that makes it. */
void proposed_to_do(const struct proposed *proposed, const struct recommending *asked);

/* Which replicas would serve the file, and what they would be worth. applies: what is to be done is not told. */
enum ctl_status replicas_print(const struct recommending *asked, const struct recommendation *found, bool applies);
void replicas_json(struct json *json, const struct recommending *asked, const struct recommendation *found);

/* Begins to do it, on a mount, and notes what began; unless it is quiet says so. */
enum ctl_status recommend_apply(struct together_file *file, bool quiet);
enum ctl_status recommend_apply_together(struct together *together, bool quiet);

/* Tell all of it. applies: what is to be done is not told, since it is done next. */
enum ctl_status recommend_say(const struct recommending *asked, const struct recommendation *found, bool as_json,
                              bool applies);
enum ctl_status recommend_say_together(const struct together *together, bool as_json, bool applies);

/* The file, as a command would name it, on standard output. */
void recommend_print_file(const struct recommending *asked);

/* Tells the command that gives the file a layout. */
void recommend_to_do(const struct recommending *asked, const char *layout);

#endif
