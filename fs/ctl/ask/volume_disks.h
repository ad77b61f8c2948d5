/* SPDX-License-Identifier: MIT */
/* The disks of a mounted volume, as its mount tells and is told (user.falls.disks). */
#ifndef FALLSFS_FS_CTL_ASK_VOLUME_DISKS_H
#define FALLSFS_FS_CTL_ASK_VOLUME_DISKS_H

#include "fs/ctl/ask/attrs.h"
#include "fs/ctl/show/table.h"
#include "fs/json/json.h"

#include <sys/stat.h>

struct volume_disk {
    char state[16]; /* in, leaving, gone, absent */
    char *pool;     /* "-": none */
    char *path;
};

struct volume_disks {
    char *mountpoint;
    uint32_t n;
    struct volume_disk *disk; /* by number, with those that have left */
};

/* mountpoint may be any path in the mount. -EINVAL and others; ret_why says why. */
int volume_disks_init(struct volume_disks *disks, const char *mountpoint, char ret_why[static ATTRS_WHY]);
void volume_disks_done(struct volume_disks *disks);

/* A disk by its name, d2, or its path; UINT32_MAX: there is none, or it has left. */
uint32_t volume_disks_find(const struct volume_disks *disks, const char *word);

/* The same of those that have left. */
uint32_t volume_disks_find_gone(const struct volume_disks *disks, const char *word);

/* "leave d2" */
int volume_disks_order(const struct volume_disks *disks, const char *word, uint32_t disk,
                       char ret_why[static ATTRS_WHY]);

/* Whether the options are right for the table that volume_disks_print makes, as table_check. */
bool volume_disks_check(const struct table_options *options, const char *verb, enum ctl_status *ret_status);

/* Shows how many bytes the first n disks have before and after, as a table or as an array of objects. */
void volume_disks_print(const struct volume_disks *disks, uint32_t n, const uint64_t before[], const uint64_t after[],
                        const struct table_options *options, bool raw);
void volume_disks_json(struct json *json, const struct volume_disks *disks, uint32_t n, const uint64_t before[],
                       const uint64_t after[]);

#endif
