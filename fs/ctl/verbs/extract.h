/* SPDX-License-Identifier: MIT */
/* Files and trees on their way out of a volume that is not mounted. */
#ifndef FALLSFS_FS_CTL_VERBS_EXTRACT_H
#define FALLSFS_FS_CTL_VERBS_EXTRACT_H

#include "fs/core/fs.h"
#include "fs/json/json.h"

#include <sys/stat.h>

#define EXTRACT_CHUNK (1 << 20) /* bytes */

struct extract {
    bool recursive, partial, as_json;
    const char *out;
    struct json json;
    char **disk;
    uint32_t n_disks;
    struct fs *fs;
    uint8_t *buf; /* EXTRACT_CHUNK */
    uint64_t files, failed, lost_bytes;
};

/* Says why something is not extracted, and counts that; returns r. */
PRINTF_LIKE(3, 4) int extract_fail(struct extract *extract, int r, const char *fmt, ...);

/* Finds the inode at a path below the volume's root, for the caller with a reference. */
int extract_look_up(struct fs *fs, const char *path, struct inode **ret_inode, struct stat *ret_stat);

/* Gives the copy name in dir all that its original has besides bytes, or says what it is without. */
void extract_dress(struct extract *extract, const char *path, struct inode *inode, const struct stat *st, int dir,
                   const char *name);

/* Copies a file to a new one; on failure nothing is left of that which could be taken for the original. */
int extract_file(struct extract *extract, const char *path, int dir, const char *name);
int extract_to_stdout(struct extract *extract, const char *path);

/* Copies a directory with all that is in it to extract->out. */
int extract_tree(struct extract *extract, const char *path);

#endif
