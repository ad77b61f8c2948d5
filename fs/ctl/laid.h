/* SPDX-License-Identifier: MIT */
/* How a file is laid out, or what is made in a directory would be: as its mount tells everybody who may read it. */
#ifndef FALLSFS_FS_CTL_LAID_H
#define FALLSFS_FS_CTL_LAID_H

#include "fs/ctl/attrs.h"
#include "layout/layout.h"

struct laid {
    bool is_dir;
    char *json;            /* all that the mount says */
    char *text;            /* the layout */
    char *from;            /* file, directory, ancestor, mount */
    char *directory;       /* of directory and ancestor: which, from the top of the mount on */
    struct layout *layout; /* with its pattern */
    uint32_t n_disks;      /* of the volume, with those that have left */
    uint32_t n_takes;      /* of them, those that new bytes may go to */
    uint32_t *takes;
    uint32_t *disk; /* of each element; for directories: of a file that does not rotate */
    uint32_t header_disk;
    uint64_t size;
    char *array_text; /* NULL: nobody has said what the bytes mean */
    struct array array;
};

int laid_init(struct laid *laid, const char *path, char ret_why[static ATTRS_WHY]);
void laid_done(struct laid *laid);

/* Of an element, or the header. */
uint32_t laid_disk(const struct laid *laid, uint32_t element);

/* Whether new bytes may go to a disk. */
bool laid_takes(const struct laid *laid, uint32_t disk);

/* Whether it is laid out as this text says, however it is written; disks count where the text names some. What a pool
 * is only the volume knows: such a text is none. */
bool laid_is(struct laid *laid, const char *text);

#endif
