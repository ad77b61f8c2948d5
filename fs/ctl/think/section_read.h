/* SPDX-License-Identifier: MIT */
/* Sections of arrays as command lines have them: L:U[:S] in each dimension, both bounds included, "0:1023,0:63". */
#ifndef FALLSFS_FS_CTL_THINK_SECTION_READ_H
#define FALLSFS_FS_CTL_THINK_SECTION_READ_H

#include "fs/ctl/ask/attrs.h"
#include "layout/section.h"

/* Reads the bytes of the file that a section of its array has. array_text is what the array is called in ret_why. */
int section_read(const char *text, const struct array *array, const char *array_text, struct nest **ret_nest,
                 char ret_why[static ATTRS_WHY]);

/* Reads L:U[:S], which it takes apart. */
bool section_read_range(char *text, struct range *ret_range);

#endif
