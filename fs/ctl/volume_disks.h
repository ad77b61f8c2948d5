/* SPDX-License-Identifier: MIT */
/* The disks of a mounted volume, as its mount tells and is told (user.falls.disks). */
#ifndef FALLSFS_FS_CTL_VOLUME_DISKS_H
#define FALLSFS_FS_CTL_VOLUME_DISKS_H

#include "fs/ctl/attrs.h"
#include "fs/ctl/json.h"

#include <sys/stat.h>

struct volume_disk {
    char state[16]; /* in, leaving, gone, absent */
    char *pool;     /* "-": none */
    char *path;
    uint64_t capacity; /* bytes of the file system, shared by as many disks as lie there; 1: nobody knows */
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

/* New bytes go there. */
bool volume_disk_takes(const struct volume_disk *disk);

/* "leave d2" */
int volume_disks_order(const struct volume_disks *disks, const char *word, uint32_t disk,
                       char ret_why[static ATTRS_WHY]);

/* Adds what a file has on each disk, its holes spread evenly. */
int volume_disks_count(const struct volume_disks *disks, const char *path, const struct stat *st, double bytes[]);

/* How many bytes each has before and after a change of so many, as a table or as an array of objects. */
void volume_disks_print(const struct volume_disks *disks, const double before[], const double shift[], bool raw);
void volume_disks_json(struct json *json, const struct volume_disks *disks, const double before[],
                       const double shift[]);

#endif
