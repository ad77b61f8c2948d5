/* SPDX-License-Identifier: MIT */
/* How a file is laid out, or what is made in a directory would be: as its mount tells everybody who may read it. */
#ifndef FALLSFS_FS_CTL_ASK_FILE_INFO_H
#define FALLSFS_FS_CTL_ASK_FILE_INFO_H

#include "fs/ctl/ask/attrs.h"
#include "fs/ctl/ask/json_read.h"
#include "layout/layout.h"

struct file_info {
    bool is_dir;
    struct json_object *said; /* by the mount, all of it */
    char *text;               /* the layout */
    char *from;               /* file, directory, ancestor, mount */
    char *directory;          /* of directory and ancestor: which, from the top of the mount on */
    struct layout *layout;    /* with its pattern */
    uint32_t n_disks;         /* of the volume, with those that have left */
    uint32_t n_takes;         /* of them, those that new bytes may go to */
    uint32_t *takes;
    uint32_t *disk; /* of each element; for directories: of a file that does not rotate */
    uint32_t header_disk;
    bool rotates; /* of directories: each new file starts on another disk */
    uint64_t size;
    char *array_text; /* NULL: nobody has said what the bytes mean */
    struct array array;
};

/* Whether a list in what a mount says of a layout, the one with this name, has the disk. */
bool file_info_lists(const struct json_object *said, const char *name, uint32_t disk);

int file_info_init(struct file_info *info, const char *path, char ret_why[static ATTRS_WHY]);

/* Fills info, all zeros until then, from what a mount has said of the path's layout; -EINVAL: that makes no sense. The
 * numbers of all disks in info are less than n_disks. */
int file_info_read(struct file_info *info, const char *path, const char *json);

void file_info_done(struct file_info *info);

/* The disk of an element, or of the header, ELEMENT_HEADER. */
uint32_t file_info_disk(const struct file_info *info, uint32_t element);

/* Whether new bytes may go to the disk. */
bool file_info_takes(const struct file_info *info, uint32_t disk);

/* Whether new files leave the disk out where they may, since it is nearly full or read-only. */
bool file_info_leaves_out(const struct file_info *info, uint32_t disk);

/* Whether the file is laid out as a text says, in whatever form that is written; disks count where the text names some.
 * Only the volume knows which disks a pool has, so a text with a pool may not be recognised. */
bool file_info_is(struct file_info *info, const char *text);

#endif
