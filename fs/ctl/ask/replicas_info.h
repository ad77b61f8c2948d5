/* SPDX-License-Identifier: MIT */
/* The replicas of a file, as its mount tells (user.falls.replicas.json). */
#ifndef FALLSFS_FS_CTL_ASK_REPLICAS_INFO_H
#define FALLSFS_FS_CTL_ASK_REPLICAS_INFO_H

#include "fs/ctl/ask/attrs.h"
#include "fs/ctl/ask/json_read.h"

#include <string.h>

#define REPLICAS_INFO_MAX 16 /* of which a mount may tell; further ones are passed over */

/* Its texts are NULL where the mount does not say. */
struct replica_info {
    struct json_object *said; /* all of it */
    uint64_t number;
    const char *layout, *on_write, *state, *error;
    uint64_t offset, length; /* the bytes that it is to have; length UINT64_MAX: to the end of the file */
    uint64_t bytes;          /* of the file there */
    uint64_t has, durable;   /* that can be read from it, and that the disks call right */
    uint64_t room;           /* bytes on the disks */
    bool is_copy;            /* the second copy of a layout with copies */
};

struct replicas_info {
    struct json_object *said;
    uint32_t n;
    struct replica_info replica[REPLICAS_INFO_MAX];
};

/* Asks the mount; ret_why says why not. */
int replicas_info_init(struct replicas_info *info, const char *path, char ret_why[static ATTRS_WHY]);
void replicas_info_done(struct replicas_info *info);

/* Orders one more replica of a file, as an attribute says it: only as OFFSET:LENGTH, on_write as drop or update; NULL:
 * what is usual. ret_why says why not. */
int replicas_info_add(const char *path, const char *layout, const char *only, const char *on_write,
                      char ret_why[static ATTRS_WHY]);

/* The replica with that number; NULL: there is none. */
const struct replica_info *replicas_info_find(const struct replicas_info *info, uint64_t number);

static inline bool replica_info_is(const struct replica_info *replica, const char *state)
{
    return replica->state != NULL && strcmp(replica->state, state) == 0;
}

/* How much of what it is to have it has: 0 to 100, and 100 only when it has all. */
uint32_t replica_info_percent(const struct replica_info *replica);

#endif
