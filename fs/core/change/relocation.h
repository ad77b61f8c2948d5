/* SPDX-License-Identifier: MIT */
/* Other disks for a file that has a layout: what placement.h decides of its parts, said as a layout of the same kind.
 *
 *     stripe(1M) on d0-d2    d1 ──> d3    stripe(1M) on d0,d3,d2    element 1 is copied, the others stay */
#ifndef FALLSFS_FS_CORE_CHANGE_RELOCATION_H
#define FALLSFS_FS_CORE_CHANGE_RELOCATION_H

#include "fs/core/change/placement.h"
#include "fs/core/stub/in_use.h"

#define RELOCATION_NONE UINT32_MAX

/* Asks the disks, and makes a table of them as they are now, without any file. thought: a disk that is treated as if it
 * left, too; or RELOCATION_NONE. */
int relocation_look(struct fs *fs, uint32_t thought, struct placement *ret_placement);
void relocation_forget(struct placement *placement);

/* Asks the disks again, and notes in the table those that have less room now, or take nothing any more. */
void relocation_look_again(struct fs *fs, struct placement *placement);

struct relocation {
    char *text;     /* of the layout that the file is to get */
    uint32_t start; /* place in its list of the first element */
    uint64_t bytes; /* bytes to be copied */
    bool is_typed;  /* somebody typed the list of disks that the text has, but for those that leave */
};

void relocation_done(struct relocation *relocation);

/* Adds to the table what a file has on each disk. -ENODEV: it has a disk that the table has not. */
int relocation_count(struct placement *placement, const struct file_layout *layout, const struct record *record);

/* Notes that all files have been counted: what else is used on the disks cannot be moved. */
void relocation_end_count(struct placement *placement);

/* Whether a file has bytes, or may get some, on a disk where nothing may stay. */
bool relocation_has_to_leave(const struct placement *placement, const struct file_layout *layout,
                             const struct record *record);

/* Finds other disks for a file's parts that may not stay. 1: it must move, and ret_relocation says where; 0: it need
 * not. -ENOSPC: no disk has room for a part of ret_lacking bytes; -EEXIST: only the one that has the other copy of
 * them; -ENODEV: as relocation_count; -ENOMEM. */
int relocation_leave(struct placement *placement, const struct file_layout *layout, const struct record *record,
                     struct relocation *ret_relocation, uint64_t *ret_lacking);

/* Finds emptier disks for parts of a file. 1: disks are more alike when it moves as ret_relocation says; 0: they are
 * not, or somebody has named the file's disks. Errors as relocation_leave but -ENOSPC. */
int relocation_even(struct placement *placement, const struct file_layout *layout, const struct record *record,
                    struct placement_stays *stays, struct relocation *ret_relocation);

/* Gives the text of a layout for spreading a file anew: without the disks it lists, nor those of its elements if they
 * were not typed but written by an earlier version that emptied a disk. NULL without memory. */
char *relocation_bare(const struct layout *layout);

#endif
