/* SPDX-License-Identifier: MIT */
/* What status says in sentences, for people and for programs. */
#ifndef FALLSFS_FS_CTL_VERBS_STATUS_NOTES_H
#define FALLSFS_FS_CTL_VERBS_STATUS_NOTES_H

#include "layout/base.h"

/* The name of a disk, such as "d2". */
const char *disk_name(uint32_t index, char name[static 16]);

/* Cuts the next line off a text of notes or actions, to be freed; NULL behind the last line. */
char *next_line(const char **rest);

/* What it means that new files leave these disks out, and what helps; NULL: there are none, or no memory. */
char *note_on_left_out(const bool left_out[], uint32_t n, const char *mountpoint);

#endif
